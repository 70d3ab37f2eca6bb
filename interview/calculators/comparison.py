"""Up to four configurations of one calculator in one picture and one link: the one in the form, and pinned ones (`vs`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.http import QueryDict

from interview.calculators.formulas.parameters import FieldError, as_text, visible
from interview.calculators.formulas.registry import Outcome, run
from interview.calculators.formulas.result import Chart, Series

MOST = 3
# Each is a whole calculation: a link of many bad ones must not cost many.
LOOKED = 2 * MOST


@dataclass(frozen=True, slots=True)
class Pinned:
    """A configuration kept beside the one in the form."""

    query: str
    label: str
    headline: str


def pinned(outcome: Outcome, queries: list[str]) -> tuple[list[Outcome], list[FieldError]]:
    """The pinned configurations that can be computed, at most three, each once; and a word on each left out."""
    found: dict[str, Outcome] = {}
    said: list[FieldError] = []
    for looked, query in enumerate(queries):
        if len(found) == MOST or looked == LOOKED:
            said += _beyond({q for q in queries[looked:] if q not in queries[:looked]} - set(found))
            break
        other = run(outcome.calculator, QueryDict(query), at_once=True)
        if other.result:
            found[other.query] = other
        else:
            why = "; ".join(f"{visible(e.name, 40)} {e.message}" for e in other.errors[:2])
            said.append(FieldError("vs", f"“{visible(query, 60)}” is left out: {why}"))
    return list(found.values()), said


def _beyond(queries: set[str]) -> list[FieldError]:
    """What is said of pinned configurations after the last that has room."""
    text = f"at most four, with the one in the form; {len(queries)} left out"
    return [FieldError("vs", text)] if queries else []


def suffix(others: list[Outcome]) -> str:
    """What the pinned configurations add to the link."""
    return "".join(f"&vs={quote(o.query, safe='')}" for o in others)


def context(outcome: Outcome, others: list[Outcome]) -> dict[str, Any]:
    """The pinned configurations, the picture of all, and the query that pins this one too."""
    if not outcome.result:
        return {"pinned": [Pinned(o.query, o.query, str(o.result.headline)) for o in others if o.result]}
    shown: dict[str, Any] = {
        "pinned": [Pinned(o.query, label(o, outcome), str(o.result.headline)) for o in others if o.result]
    }
    if len(others) < MOST and outcome.query not in {o.query for o in others}:
        shown["pin_query"] = f"{outcome.query}{suffix([*others, outcome])}"
    return shown | ({"comparison": _chart(outcome, others)} if others else {})


def label(other: Outcome, outcome: Outcome) -> str:
    """What is different about a pinned configuration."""
    parts = []
    for parameter in outcome.calculator.parameters:
        value = getattr(other.inputs, parameter.name)
        if value != getattr(outcome.inputs, parameter.name):
            text = as_text(value).replace("\n", " ")
            parts.append(f"{parameter.label.lower()} {text[:40] or 'unset'}")
    return (", ".join(parts) or "the same")[:90]


def _chart(outcome: Outcome, others: list[Outcome]) -> Chart:
    assert outcome.result is not None
    name = next(n for n, v in outcome.result.results.items() if not isinstance(v, str))
    labels = ["in the form", *(label(o, outcome) for o in others)]
    values = [float(o.result.results.get(name, 0)) for o in (outcome, *others) if o.result]
    points = tuple((float(i), value) for i, value in enumerate(values))
    said = name.replace("_", " ")
    return Chart(
        kind="bars",
        title=f"Side by side: {said}",
        x_label="configuration",
        y_label=said,
        series=(Series(said, points),),
        y_unit=_unit(name),
        labels=tuple(labels),
        shown=0,
    )


def _unit(name: str) -> str:
    for start, unit in (("bytes", "bytes"), ("usd", "USD"), ("seconds", "s"), ("flops", "FLOPs")):
        if name.startswith(start):
            return unit
    return ""
