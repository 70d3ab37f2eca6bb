"""The form of a calculator: every parameter with what was typed, what is wrong with it and how to show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.template.loader import get_template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from interview.calculators.formulas.encodings import absent, how_to_add
from interview.calculators.formulas.models import models
from interview.calculators.formulas.parameters import FieldError, Parameter, as_text
from interview.calculators.formulas.registry import Outcome
from interview.calculators.formulas.units import number_text

SLIDER_TOP = 2**20
LONGEST_KNOWN = 120
TOKENIZERS = ("encoding", "compare")


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a list."""

    value: str
    label: str
    selected: bool


@dataclass(frozen=True, slots=True)
class Field:
    """One input as the template draws it."""

    parameter: Parameter
    value: str
    error: str

    @property
    def id(self) -> str:
        """The element's id."""
        return f"f-{self.parameter.name}"

    @property
    def options(self) -> tuple[Option, ...]:
        """The choices, without a registry’s models."""
        if self.parameter.kind == "model":
            return _extra(self.parameter, self.value)
        missing = _absent(self.parameter)
        return tuple(
            Option(name, f"{label} (not installed)" if name in missing else label, name == self.value)
            for name, label in self.parameter.choices
        )

    @property
    def option_list(self) -> SafeString:
        """The choices as options."""
        return mark_safe("".join(map(_option, self.options)))

    @property
    def families(self) -> SafeString:
        """The registry’s models as option groups."""
        return _families(self.value)

    @property
    def html(self) -> SafeString:
        """The input with its label, hint and error."""
        if len(self.value) > LONGEST_KNOWN:
            return _rendered(self)
        return _known(self.parameter, self.value, self.error, _absent(self.parameter))

    @property
    def is_on(self) -> bool:
        """Is a flag ticked?"""
        return self.value.strip().lower() in ("1", "true", "on", "yes")

    @property
    def hint(self) -> str:
        """What stands under the input; with a tokenizer, how one that is not here is added."""
        missing = _absent(self.parameter) if self.parameter.name == "encoding" else frozenset()
        return how_to_add(missing) or self.parameter.hint

    @property
    def range_hint(self) -> str:
        """The allowed range, for the title of the input."""
        if self.parameter.kind not in ("whole", "real"):
            return ""
        return f"{number_text(self.parameter.low)} to {number_text(self.parameter.high)}"

    @property
    def slider_top(self) -> int:
        """Where a slider ends."""
        return int(min(self.parameter.high, SLIDER_TOP))


def _rendered(field: Field) -> SafeString:
    return mark_safe(get_template("calculators/_field.html").render({"field": field}))


@lru_cache(maxsize=2048)
def _known(parameter: Parameter, value: str, error: str, missing: frozenset[str]) -> SafeString:
    """A short field as it was drawn before: most of a form is the same from one page to the next."""
    return _rendered(Field(parameter, value, error))


def field_of(parameter: Parameter, outcome: Outcome) -> Field:
    """The field of one parameter: the typed text where there was any, else the value in force."""
    if outcome.result:
        value = as_text(getattr(outcome.inputs, parameter.name))
    else:
        value = outcome.typed.get(parameter.name, as_text(parameter.default))
    error = "; ".join(e.message for e in outcome.errors if e.name == parameter.name)
    return Field(parameter, value.encode("utf-8", "replace").decode("utf-8"), error)


def _absent(parameter: Parameter) -> frozenset[str]:
    """Tokenizers that are offered but whose files must be fetched first."""
    return absent(n for n, _ in parameter.choices) if parameter.name in TOKENIZERS else frozenset()


def _extra(parameter: Parameter, value: str) -> tuple[Option, ...]:
    """`own geometry`, and what was typed where no such model exists: it must not be lost."""
    named = [Option(name, label, name == value) for name, label in parameter.choices]
    if value not in models() and value not in dict(parameter.choices):
        named.append(Option(value[:200], f"{value[:60] or 'nothing chosen'} (unknown)", True))
    return tuple(named)


@lru_cache(maxsize=256)
def _families(value: str) -> SafeString:
    """The registry's models as option groups; made once for a chosen model, a template is slow at this."""
    grouped: dict[str, list[Option]] = defaultdict(list)
    for geometry in models().values():
        grouped[geometry.family].append(Option(geometry.id, geometry.name, geometry.id == value))
    return mark_safe(
        "".join(
            f'<optgroup label="{escape(family)}">{"".join(map(_option, options))}</optgroup>'
            for family, options in grouped.items()
        )
    )


def _option(option: Option) -> str:
    chosen = " selected" if option.selected else ""
    return f'<option value="{escape(option.value)}"{chosen}>{escape(option.label)}</option>'


def main_fields(fields: Iterable[Field]) -> SafeString:
    """Fields that always show, drawn."""
    return mark_safe("".join(f.html for f in fields if not f.parameter.group))


def groups(fields: Iterable[Field]) -> SafeString:
    """Fields that fold away, drawn by group in the order they are declared; open where one of them is used or wrong."""
    named: dict[str, list[Field]] = defaultdict(list)
    for field in fields:
        if field.parameter.group:
            named[field.parameter.group].append(field)
    drawn = "".join(_group(title, members) for title, members in named.items())
    return mark_safe(f"<div>{drawn}</div>" if drawn else "")


def _group(title: str, members: list[Field]) -> str:
    opened = " open" if any(map(_in_use, members)) else ""
    inside = "".join(f.html for f in members)
    summary = f"<summary>{escape(title)}</summary>"
    return f'<details class="more"{opened}>{summary}<div class="stack">{inside}</div></details>'


def _in_use(field: Field) -> bool:
    return bool(field.error) or field.value != as_text(field.parameter.default)


def loose_errors(outcome: Outcome) -> list[FieldError]:
    """Errors of names that have no field: unknown parameters, a wrong version."""
    known = {p.name for p in outcome.calculator.parameters}
    return [e for e in outcome.errors if e.name not in known]
