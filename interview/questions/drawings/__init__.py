"""One drawing a topic, made as SVG on the server. Numbers in them are computed here and stand in the caption too."""

from __future__ import annotations

from collections.abc import Callable

from interview.questions.drawings import mechanism, product
from interview.questions.drawings.shapes import Drawing

DRAWINGS: dict[str, Callable[[], Drawing]] = {**mechanism.DRAWINGS, **product.DRAWINGS}


def drawing_of(topic: str) -> Drawing | None:
    """The drawing of a topic of the bank."""
    draw = DRAWINGS.get(topic)
    return draw() if draw else None
