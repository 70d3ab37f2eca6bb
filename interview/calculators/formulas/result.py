"""What a calculator gives back: numbers in base units, the working, warnings, and data for pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import isfinite

from interview.calculators.formulas.expression import Number, evaluate, names_in, to_text

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the working: `code` over `names` gave `value`."""

    name: str
    label: str
    code: str
    value: int | float
    unit: str
    names: Mapping[str, Number]

    @property
    def expression(self) -> str:
        """The expression with the numbers filled in."""
        return to_text(self.code, self.names)

    def to_dict(self) -> dict[str, Value]:
        """The shape of the JSON contract."""
        return {"label": self.label, "expression": self.expression, "value": self.value, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Headline:
    """The one number on top: `value` and `unit`, a second reading of it, and the exact figure."""

    value: str
    unit: str
    second: str = ""
    exact: str = ""

    def __str__(self) -> str:
        main = f"{self.value} {self.unit}".strip()
        return f"{main} ({self.second})" if self.second else main


@dataclass(frozen=True, slots=True)
class Series:
    """One curve, or one set of bars, in the order of the chart's `labels`."""

    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of a timeline: from `start` to `end` in `lane`; `kind` picks the colour."""

    lane: int
    start: float
    end: float
    label: str
    kind: str = "bar"


@dataclass(frozen=True, slots=True)
class Table:
    """A table: column heads carry the unit; a cell is text or a number."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture's data: `kind` is line, bars, timeline or heat; y in `y_unit` ("bytes" scales itself)."""

    kind: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...] = ()
    y_unit: str = ""
    now: float | None = None
    labels: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    lanes: tuple[str, ...] = ()
    note: str = ""
    shown: int | None = None
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """One token as the page draws it."""

    text: str
    id: int
    is_control: bool = False
    is_template: bool = False
    differs: bool = False

    @property
    def css(self) -> str:
        """One of six washes, by id, so that a token keeps its colour; how it came about, and whether it differs."""
        kinds = (
            (self.is_control, "is-control"),
            (self.is_template, "is-template"),
            (self.differs, "is-other"),
        )
        return " ".join([f"t{self.id % 6 + 1}", *(name for holds, name in kinds if holds)])


@dataclass(frozen=True, slots=True)
class Result:
    """Everything one calculation says. `results` are in base units, the unit in the name."""

    headline: Headline
    results: dict[str, Value]
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    program: str = ""
    pieces: tuple[Piece, ...] = ()
    beside: tuple[Piece, ...] = ()
    beside_label: str = ""
    formula: str = ""
    formula_names: Mapping[str, Number] | None = None
    # What is still being worked out elsewhere; asked again a moment later the result has more of it.
    pending: tuple[str, ...] = ()

    @property
    def is_finite(self) -> bool:
        """Holds no infinity and nothing that is no number; JSON has neither."""
        cells = (cell for table in self.every_table() for row in table.rows for cell in row)
        points = (
            n for chart in self.charts for series in chart.series for point in series.points for n in point
        )
        steps = (step.value for step in self.steps)
        every = chain(self.results.values(), steps, cells, points)
        return all(isfinite(v) for v in every if isinstance(v, float))

    def every_table(self) -> list[Table]:
        """Tables of their own, and those that stand under a picture instead of its plain numbers."""
        return [*(c.table for c in self.charts if c.table), *self.tables]


@dataclass(slots=True)
class Working:
    """Collects steps; each is evaluated from its own expression, so the working is the computation."""

    names: dict[str, Number] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def given(self, **names: Number) -> None:
        """Name quantities that come from the input."""
        self.names.update(names)

    def step(self, name: str, label: str, code: str, unit: str) -> Number:
        """Evaluate `code`, keep it as a step under `name`, and give the value back."""
        value = evaluate(code, self.names)
        used = {n: self.names[n] for n in names_in(code)}
        self.names[name] = value
        self.steps.append(Step(name, label, code, plain(value), unit, used))
        return value

    def whole(self, name: str, label: str, code: str, unit: str) -> int:
        """A step whose value is a whole number."""
        value = self.step(name, label, code, unit)
        if not isinstance(value, int):
            raise TypeError(f"{name} is not whole: {value}")
        return value

    def real(self, name: str, label: str, code: str, unit: str) -> float:
        """A step read as a float."""
        return float(self.step(name, label, code, unit))


def plain(value: Number) -> int | float:
    """A number JSON can carry: a fraction becomes a float."""
    return float(value) if isinstance(value, Fraction) else value


def program(title: str, working: Working, answer: str) -> str:
    """A Python program, standard library only, that computes every step again and prints `answer`."""
    made = {s.name for s in working.steps}
    given: dict[str, Number] = {}
    for step in working.steps:
        given |= {n: v for n, v in step.names.items() if n not in made}
    lines = [f"# {title}", "from math import ceil, exp, floor, log, log2, sqrt", ""]
    lines += [f"{name} = {_literal(value)}" for name, value in given.items()]
    lines += [f"{s.name} = {s.code}  # {s.unit}" for s in working.steps]
    return "\n".join([*lines, f"print({answer})", ""])


def _literal(value: Number) -> str:
    if isinstance(value, Fraction):
        return f"{value.numerator} / {value.denominator}"
    return repr(value)
