"""A rubric: the key points, numbers and misconceptions an answer is assessed against (no torch here)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

MIN_STATEMENTS = 1
POINT_KEYS = ("id", "weight", "means", "statements", "anchors", "numbers", "optional")
NUMBER_KEYS = ("value", "unit", "tolerance", "of", "required")
MISCONCEPTION_KEYS = ("id", "statements", "right", "points", "penalty")
T = TypeVar("T")


class RubricError(ValueError):
    """A rubric that can't be used; `path` names the place, e.g. `points[0].anchors[1]`."""

    code = "invalid_rubric"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem
        self.message = str(self)


@dataclass(frozen=True, slots=True)
class Number:
    """A quantity a point names: value in unit, relative tolerance, words for what it measures."""

    value: float
    unit: str = ""
    tolerance: float = 0.02
    of: tuple[str, ...] = ()
    required: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The number as plain JSON data."""
        return {
            "value": self.value,
            "unit": self.unit,
            "tolerance": self.tolerance,
            "of": list(self.of),
            "required": self.required,
        }


@dataclass(frozen=True, slots=True)
class Point:
    """One idea a good answer holds: what it means, differently worded statements, and gates."""

    id: str
    means: str
    statements: tuple[str, ...]
    weight: float = 1.0
    anchors: tuple[tuple[str, ...], ...] = ()
    numbers: tuple[Number, ...] = ()
    optional: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The point as plain JSON data."""
        return {
            "id": self.id,
            "weight": self.weight,
            "means": self.means,
            "statements": list(self.statements),
            "anchors": [list(group) for group in self.anchors],
            "numbers": [number.to_dict() for number in self.numbers],
            "optional": self.optional,
        }


@dataclass(frozen=True, slots=True)
class Misconception:
    """A wrong belief: how people state it, the right statement, the points it contradicts, what it costs."""

    id: str
    statements: tuple[str, ...]
    right: str
    points: tuple[str, ...] = ()
    penalty: float = 0.25

    def to_dict(self) -> dict[str, Any]:
        """The misconception as plain JSON data."""
        return {
            "id": self.id,
            "statements": list(self.statements),
            "right": self.right,
            "points": list(self.points),
            "penalty": self.penalty,
        }


@dataclass(frozen=True, slots=True)
class Rubric:
    """Key points and misconceptions of one question."""

    points: tuple[Point, ...]
    misconceptions: tuple[Misconception, ...] = ()

    @classmethod
    def from_dict(cls, data: object) -> Rubric:
        """Build a rubric from plain data; raises RubricError naming the path of the first fault."""
        mapping = _mapping(data, "rubric", ("points", "misconceptions"))
        points = _items(mapping.get("points"), "points", _point, at_least=1)
        _unique([point.id for point in points], "points")
        if all(point.optional for point in points):
            raise RubricError("points", "every point is optional; at least one must count")
        misconceptions = _items(mapping.get("misconceptions", ()), "misconceptions", _misconception)
        _unique([item.id for item in misconceptions], "misconceptions")
        _known_points(misconceptions, {point.id for point in points})
        return cls(points, misconceptions)

    def to_dict(self) -> dict[str, Any]:
        """The rubric as plain JSON data; `from_dict` of it gives an equal rubric."""
        return {
            "points": [point.to_dict() for point in self.points],
            "misconceptions": [item.to_dict() for item in self.misconceptions],
        }

    @property
    def hash(self) -> str:
        """sha256 (hex) of the canonical JSON: sorted keys, no spaces, UTF-8."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _point(data: object, path: str) -> Point:
    mapping = _mapping(data, path, POINT_KEYS)
    means = _text(mapping.get("means"), f"{path}.means")
    anchors = _items(mapping.get("anchors", ()), f"{path}.anchors", _texts)
    return Point(
        id=_text(mapping.get("id"), f"{path}.id"),
        means=means,
        statements=_texts(mapping.get("statements", (means,)), f"{path}.statements", MIN_STATEMENTS),
        weight=_positive(mapping.get("weight", 1.0), f"{path}.weight"),
        anchors=anchors,
        numbers=_items(mapping.get("numbers", ()), f"{path}.numbers", _number),
        optional=_flag(mapping.get("optional", False), f"{path}.optional"),
    )


def _number(data: object, path: str) -> Number:
    mapping = _mapping(data, path, NUMBER_KEYS)
    tolerance = _real(mapping.get("tolerance", 0.02), f"{path}.tolerance")
    if not 0 <= tolerance < 1:
        raise RubricError(
            f"{path}.tolerance", f"a relative tolerance from 0 to below 1 is wanted, got {tolerance:g}"
        )
    unit = mapping.get("unit", "")
    if not isinstance(unit, str):
        raise RubricError(f"{path}.unit", f"text is wanted, got {_kind(unit)}")
    return Number(
        value=_real(mapping.get("value"), f"{path}.value"),
        unit=unit.strip(),
        tolerance=tolerance,
        of=_texts(mapping.get("of", ()), f"{path}.of", 0),
        required=_flag(mapping.get("required", False), f"{path}.required"),
    )


def _misconception(data: object, path: str) -> Misconception:
    mapping = _mapping(data, path, MISCONCEPTION_KEYS)
    penalty = _real(mapping.get("penalty", 0.25), f"{path}.penalty")
    if not 0 <= penalty <= 1:
        raise RubricError(f"{path}.penalty", f"a share of the score from 0 to 1 is wanted, got {penalty:g}")
    return Misconception(
        id=_text(mapping.get("id"), f"{path}.id"),
        statements=_texts(mapping.get("statements"), f"{path}.statements"),
        right=_text(mapping.get("right"), f"{path}.right"),
        points=_texts(mapping.get("points", ()), f"{path}.points", 0),
        penalty=penalty,
    )


def _known_points(misconceptions: Sequence[Misconception], ids: set[str]) -> None:
    for i, item in enumerate(misconceptions):
        for j, name in enumerate(item.points):
            if name not in ids:
                allowed = ", ".join(sorted(ids))
                raise RubricError(
                    f"misconceptions[{i}].points[{j}]", f"no point {name!r}; the points are {allowed}"
                )


def _mapping(data: object, path: str, keys: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise RubricError(path, f"an object is wanted, got {_kind(data)}")
    for key in data:
        if key not in keys:
            raise RubricError(f"{path}.{key}", f"unknown key; the keys are {', '.join(keys)}")
    return data


def _items(data: object, path: str, build: Callable[[object, str], T], at_least: int = 0) -> tuple[T, ...]:
    if not isinstance(data, list | tuple):
        raise RubricError(path, f"a list is wanted, got {_kind(data)}")
    if len(data) < at_least:
        raise RubricError(path, f"at least {at_least} wanted, got {len(data)}")
    return tuple(build(item, f"{path}[{i}]") for i, item in enumerate(data))


def _texts(data: object, path: str, at_least: int = 1) -> tuple[str, ...]:
    return _items(data, path, _text, at_least)


def _text(data: object, path: str) -> str:
    if not isinstance(data, str):
        raise RubricError(path, f"text is wanted, got {_kind(data)}")
    if not data.strip():
        raise RubricError(path, "the text is empty")
    return " ".join(data.split())


def _real(data: object, path: str) -> float:
    try:
        value = float(data) if isinstance(data, int | float) and not isinstance(data, bool) else math.nan
    except OverflowError:  # a whole number of hundreds of digits
        value = math.inf
    if not math.isfinite(value):
        got = "a number is missing" if data is None else f"a finite number is wanted, got {str(data)[:40]!r}"
        raise RubricError(path, got)
    return value


def _positive(data: object, path: str) -> float:
    value = _real(data, path)
    if value <= 0:
        raise RubricError(path, f"a number above 0 is wanted, got {value:g}")
    return value


def _flag(data: object, path: str) -> bool:
    if not isinstance(data, bool):
        raise RubricError(path, f"true or false is wanted, got {_kind(data)}")
    return data


def _unique(names: Sequence[str], path: str) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise RubricError(f"{path}[{i}].id", f"{name!r} is used twice")


def _kind(data: object) -> str:
    return "nothing" if data is None else type(data).__name__
