"""Parameters of a calculator, read off its input dataclass: one parsing for page, JSON, link and command."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from interview.calculators.formulas.models import UnknownModel, find_model
from interview.calculators.formulas.units import number_text

VERSION = "1"
OWN_MODEL = "own"
NUMBER_LENGTH = 64
INVISIBLE = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
SURROGATE = re.compile("[\ud800-\udfff]")
GROUPING = re.compile("[\\s_\u00a0\u202f\u2009']+")

T = TypeVar("T")
N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """One input: its name in page, link, JSON and command line, and what it may hold. There is one object of each."""

    name: str
    kind: str
    default: Any
    label: str
    unit: str = ""
    low: float = 0
    high: float = 0
    choices: tuple[tuple[str, str], ...] = ()
    also: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    group: str = ""
    optional: bool = False
    slider: bool = False
    segmented: bool = False
    rows: int = 1


@dataclass(frozen=True, slots=True)
class FieldError:
    """What was wrong with one parameter."""

    name: str
    message: str


class InputErrors(ValueError):
    """One or more parameters cannot be used."""

    def __init__(self, *errors: FieldError) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{e.name}: {e.message}" for e in errors))


def refuse(name: str, message: str) -> InputErrors:
    """The error for one parameter, ready to raise."""
    return InputErrors(FieldError(name, message))


def _made(default: Any, kind: str, label: str, **rest: Any) -> Any:
    return field(default=default, metadata={"parameter": {"kind": kind, "label": label, **rest}})


def whole(default: int | None, label: str, *, low: int = 1, high: int = 10**9, **rest: Any) -> Any:
    """A whole number from `low` to `high`; a default of None makes it optional."""
    return _made(default, "whole", label, low=low, high=high, optional=default is None, **rest)


def real(default: float | None, label: str, *, low: float = 0.0, high: float = 1e12, **rest: Any) -> Any:
    """A decimal number from `low` to `high`; a default of None makes it optional."""
    return _made(default, "real", label, low=low, high=high, optional=default is None, **rest)


def choice(default: str, label: str, choices: Iterable[tuple[str, str]], **rest: Any) -> Any:
    """One of the named choices; `also=` gives other names they go by, each with the choice it means."""
    return _made(default, "choice", label, choices=tuple(choices), **rest)


def flag(label: str, **rest: Any) -> Any:
    """Off unless ticked."""
    return _made(False, "flag", label, **rest)


def text(default: str, label: str, *, longest: int, **rest: Any) -> Any:
    """Free text of at most `longest` characters."""
    return _made(default, "text", label, high=longest, optional=True, **rest)


def model(default: str, label: str, *, own: bool = False, **rest: Any) -> Any:
    """A model of the registry, or `own` where a geometry may be typed."""
    choices = ((OWN_MODEL, "own geometry"),) if own else ()
    return _made(default, "model", label, high=200, choices=choices, **rest)


def parameters(inputs: type) -> tuple[Parameter, ...]:
    """The parameters of an input dataclass, in the order of its fields (and of the link)."""
    return _parameters(inputs)


@lru_cache(maxsize=64)
def _parameters(inputs: Hashable) -> tuple[Parameter, ...]:
    assert isinstance(inputs, type)
    made = []
    for f in fields(inputs):
        if f.default is MISSING:
            raise TypeError(f"{inputs.__name__}.{f.name} needs a default")
        made.append(Parameter(name=f.name, default=f.default, **f.metadata["parameter"]))
    return tuple(made)


def visible(raw: str, longest: int = 40) -> str:
    """User text safe to quote in a message: cut short, no control characters, no lone surrogate."""
    shown = "".join(c if c.isprintable() else "�" for c in raw[: longest + 1])
    return f"{shown[:longest]}…" if len(raw) > longest else shown


def flatten(given: Mapping[str, Any]) -> tuple[dict[str, str], list[FieldError]]:
    """One string a name (the last), and an error for each name given twice with different values."""
    flat: dict[str, str] = {}
    errors = []
    for name in given:
        values = given.getlist(name) if hasattr(given, "getlist") else [given[name]]
        flat[name] = _as_text(values[-1] if values else "")
        if len(set(map(str, values))) > 1:
            errors.append(FieldError(visible(name), "is given more than once: give it once"))
    return flat, errors


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return value if isinstance(value, str) else repr(value)


def parse(inputs: type[T], given: Mapping[str, str]) -> T:
    """The inputs from text. Raises InputErrors naming every parameter that is unknown or wrong."""
    known = {p.name: p for p in parameters(inputs)}
    errors = [_unknown(name, known) for name in given if name not in known and name != "v"]
    if given.get("v", VERSION) != VERSION:
        errors.append(FieldError("v", f"“{visible(given['v'])}” is not a version this site reads: use v=1"))
    values: dict[str, Any] = {}
    for name, parameter in known.items():
        try:
            values[name] = _read(parameter, given[name]) if name in given else parameter.default
        except ValueError as wrong:
            errors.append(FieldError(name, str(wrong)))
    if errors:
        raise InputErrors(*errors)
    return inputs(**values)


def _unknown(name: str, known: Mapping[str, Parameter]) -> FieldError:
    return FieldError(visible(name), f"unknown parameter; known are {', '.join(known)}")


def _read(parameter: Parameter, raw: str) -> Any:
    if parameter.kind == "text":
        return _read_text(parameter, raw)
    if len(raw) > max(NUMBER_LENGTH, parameter.high if parameter.kind == "model" else 0):
        raise ValueError(f"{len(raw)} characters is too long for {parameter.label.lower()}")
    cleaned = INVISIBLE.sub("", unicodedata.normalize("NFKC", raw)).strip()
    if not cleaned and parameter.kind == "flag":
        return False
    if not cleaned and parameter.optional:
        return None
    if not cleaned:
        raise ValueError(f"is empty: {_allowed(parameter)}")
    readers = {"whole": _read_whole, "real": _read_real, "choice": _read_choice, "flag": _read_flag}
    return readers.get(parameter.kind, _read_model)(parameter, cleaned)


def _read_text(parameter: Parameter, raw: str) -> str:
    if len(raw) > parameter.high:
        raise ValueError(f"{len(raw)} characters is too long: at most {int(parameter.high)}")
    return SURROGATE.sub("\ufffd", raw.replace("\r\n", "\n").replace("\r", "\n"))


def _read_whole(parameter: Parameter, cleaned: str) -> int:
    compact = GROUPING.sub("", cleaned)
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", compact):
        compact = compact.replace(",", "")
    if re.fullmatch(r"[+-]?[\d.]+[kKmM]", compact):
        raise ValueError(f"“{visible(cleaned)}” is ambiguous (128k: 128000 or 131072?): write the number out")
    if not re.fullmatch(r"[+-]?[0-9]+", compact):
        raise ValueError(f"“{visible(cleaned)}” is not a whole number: {_allowed(parameter)}")
    return _in_range(parameter, int(compact))


def _read_real(parameter: Parameter, cleaned: str) -> float:
    compact = GROUPING.sub("", cleaned)
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", compact):
        raise ValueError(f"“{visible(cleaned)}” is not a number: {_allowed(parameter)}")
    value = float(compact)
    if not math.isfinite(value):
        raise ValueError(f"“{visible(cleaned)}” is too large: {_allowed(parameter)}")
    return _in_range(parameter, value) + 0.0


def _in_range(parameter: Parameter, value: N) -> N:
    if not parameter.low <= value <= parameter.high:
        side = "below" if value < parameter.low else "above"
        raise ValueError(f"{number_text(value)} is {side} the range: {_allowed(parameter)}")
    return value


def _allowed(parameter: Parameter) -> str:
    if parameter.kind in ("choice", "model"):
        names = [name for name, _ in parameter.choices]
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        return f"choose one of {', '.join(names[:12]) or 'the models listed'}{more}"
    kind = "whole number" if parameter.kind == "whole" else "number"
    return f"give a {kind} from {number_text(parameter.low)} to {number_text(parameter.high)}"


def _read_choice(parameter: Parameter, cleaned: str) -> str:
    for typed, name in (*((n, n) for n, _ in parameter.choices), *parameter.also):
        if cleaned.lower() == typed.lower():
            return name
    near = [name for name, _ in parameter.choices if cleaned.lower() in name.lower()]
    hint = f"did you mean {near[0]}? " if near else ""
    raise ValueError(f"“{visible(cleaned)}” is not allowed: {hint}{_allowed(parameter)}")


def _read_flag(parameter: Parameter, cleaned: str) -> bool:
    if cleaned.lower() in ("1", "true", "on", "yes"):
        return True
    if cleaned.lower() in ("0", "false", "off", "no"):
        return False
    raise ValueError(f"“{visible(cleaned)}” is neither yes nor no: give 1 or 0")


def _read_model(parameter: Parameter, cleaned: str) -> str:
    if parameter.choices and cleaned.lower() == OWN_MODEL:
        return OWN_MODEL
    try:
        return find_model(cleaned).id
    except UnknownModel as unknown:
        hint = str(unknown).partition(": ")[2]
        raise ValueError(f"no model is called “{visible(cleaned, 80)}”: {hint}") from unknown


def as_text(value: Any) -> str:
    """A parameter's value as it stands in a link."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def canonical_query(inputs: Any) -> str:
    """The one query for these inputs: `v=1` first, then fields in order, defaults left out."""
    pairs = [("v", VERSION)]
    for parameter in parameters(type(inputs)):
        value = getattr(inputs, parameter.name)
        if value != parameter.default:
            pairs.append((parameter.name, as_text(value)))
    return urlencode(pairs, safe="/:,", quote_via=quote)
