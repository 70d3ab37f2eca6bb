"""Numbers of a point: the right value, in the right unit, said of the right thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.alignment import Known
from engine.anchors import hit
from engine.clauses import Clause, clauses
from engine.compiled import Figure
from engine.quantities import agrees, quantities, same_digits, unit_of
from engine.stems import word_set
from engine.units import Unit

REFERRING = word_set("it that this they which these those so i.e equals total")
FEW_WORDS = 2
GIVEN_WIDTH = 0.05  # "4k tokens" for 4,096


@dataclass(frozen=True, slots=True)
class FigureCheck:
    """`fine`; `absent` when a required number isn't there; `off` when an optional one is wrong."""

    state: Literal["fine", "absent", "off"]
    why: str = ""


def check_figures(figures: Sequence[Figure], piece: Unit, known: Known) -> FigureCheck:
    """Check the numbers of a point against the quantities in a piece; required ones are alternatives."""
    required = [figure for figure in figures if figure.number.required]
    optional = [figure for figure in figures if not figure.number.required]
    if required:
        checks = [_check(figure, piece, known) for figure in required]
        if "right" not in checks:
            return FigureCheck("absent", _why(checks))
    wrong = [
        check for check in (_check(figure, piece, known) for figure in optional) if check in ("value", "unit")
    ]
    if wrong:
        return FigureCheck("off", _why(wrong))
    return FigureCheck("fine")


def _why(checks: Sequence[str]) -> str:
    if "unit" in checks:
        return "The figure is right but its unit isn't."
    if "place" in checks:
        return "The number is right but it is said of something else."
    if "value" in checks:
        return "The number is off."
    return "The number is missing."


def _check(figure: Figure, piece: Unit, known: Known) -> Literal["right", "unit", "value", "place", "none"]:
    found: set[str] = set()
    parts = clauses(piece.text)
    for quantity in quantities(piece.text):
        index = next((i for i, part in enumerate(parts) if part.start <= quantity.start < part.end), None)
        beside = index is None or _about(figure, parts, index, known)
        if agrees(figure.number, quantity):
            found.add("right" if beside and _as_given(figure, parts, index, piece.text) else "place")
        elif beside and same_digits(figure.number, quantity, piece.text):
            found.add("unit")
        elif beside and quantity.kind and quantity.kind == unit_of(figure.number.unit)[0]:
            found.add("value")
    for outcome in ("right", "unit", "place", "value"):
        if outcome in found:
            return outcome
    return "none"


def _as_given(figure: Figure, parts: Sequence[Clause], index: int | None, text: str) -> bool:
    """False where the clause counts tokens as no wording of the point does: 19.3 GB belong to 4,096, not to 128,000."""
    start, end = (0, len(text)) if index is None else (parts[index].start, parts[index].end)
    said = [q for q in quantities(text) if q.kind == "token" and start <= q.start < end]
    return (
        not said
        or not figure.given
        or any(
            abs(q.low - given.low) <= GIVEN_WIDTH * given.low or q.low <= given.low <= q.high
            for q in said
            for given in figure.given
        )
    )


def _about(figure: Figure, parts: Sequence[Clause], index: int, known: Known) -> bool:
    """True when the number's own clause names what it measures, or refers back to a clause that does."""
    if not figure.of or _names(figure, parts[index], known):
        return True
    words = parts[index].words
    bare = sum(1 for word in words if word.content and not word.text[0].isdigit()) <= FEW_WORDS
    refers = words[0].text in REFERRING or bare
    return refers and index > 0 and _names(figure, parts[index - 1], known)


def _names(figure: Figure, clause: Clause, known: Known) -> bool:
    return any(hit(anchor, clause, "", known) for anchor in figure.of)
