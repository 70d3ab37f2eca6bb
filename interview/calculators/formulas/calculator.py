"""What a calculator is: its words, its inputs, the formula that computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interview.calculators.formulas.kv_config import ConfigReading
from interview.calculators.formulas.parameters import Parameter, parameters
from interview.calculators.formulas.result import Result

LONGEST_IN_ADDRESS = 8000


@dataclass(frozen=True, slots=True)
class Preset:
    """A link worth trying."""

    label: str
    query: str


@dataclass(frozen=True, slots=True)
class Calculator:
    """One calculator: what it is called, what it takes, what computes it and what to say about it."""

    slug: str
    title: str
    summary: str
    inputs: type
    compute: Callable[[Any], Result]
    formula: str
    formula_name: str
    meaning: str
    usual_mistake: str
    sources: tuple[str, ...]
    presets: tuple[Preset, ...] = ()
    prepare: Callable[[dict[str, str]], dict[str, str]] = dict
    from_config: Callable[[str], ConfigReading] | None = None
    # The same without what takes seconds the first time; the result names it as pending.
    at_once: Callable[[Any], Result] | None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The inputs, in the order of form and link."""
        return parameters(self.inputs)

    @property
    def reads_config(self) -> bool:
        """May a model's config.json be pasted?"""
        return self.from_config is not None

    @property
    def takes_long_text(self) -> bool:
        """Too much may be typed for an address: the form is sent in a body instead."""
        return any(p.kind == "text" and p.high > LONGEST_IN_ADDRESS for p in self.parameters)
