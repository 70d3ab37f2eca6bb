"""What of a PDF page a reader sees. Text that is drawn invisibly, in white on bare paper, too small, on a hidden layer or
beside the page is left out: an answer must not quote what nobody can find on the page.

It looks on while pypdf extracts, and empties the operators that show such text.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pypdf import PageObject
from pypdf.generic import ArrayObject, DictionaryObject, NameObject

from interview.documents.parsing.pdf_geometry import (
    EVERYWHERE,
    IDENTITY,
    Box,
    Matrix,
    area,
    around,
    at,
    corners,
    overlap,
    square,
    times,
    within,
)
from interview.documents.parsing.pdf_layers import is_off, layer_off, resolved

SMALLEST = 1.0  # points; smaller text is a speck
PICTURE = 0.5  # share of a page that a picture covers where text in the invisible mode is its recognised text
MOST_BOXES = 200  # painted areas kept apart; more are taken together
MODE, WHITE, SMALL, BESIDE, LAYER = "mode", "white", "small", "beside", "layer"
COMPONENTS = {"/DeviceGray": 1, "/CalGray": 1, "/G": 1, "/DeviceRGB": 3, "/CalRGB": 3, "/RGB": 3, "/DeviceCMYK": 4, "/CMYK": 4}  # fmt: skip
# What broken operands raise: they say nothing of what is seen.
BROKEN = (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError)


@dataclass(slots=True)
class _Drawing:
    """The part of the graphics state that decides whether text can be seen; `space`: components of the fill colour."""

    mode: int = 0
    white: bool = False
    space: int = 1
    alpha: float = 1.0
    stretch: float = 100.0
    size: float = 12.0
    rise: float = 0.0
    measured: bool = True  # False for a font that is drawn in units of its own


class Sight:
    """Looks on while one page is extracted (`before` and `after` are pypdf's visitors), and counts what it saw."""

    def __init__(self, page: PageObject, off: frozenset[int], *, recognised: bool = False) -> None:
        self.off, self.recognised = off, recognised
        self.seen = 0
        self.unseen: Counter[str] = Counter()
        self.pictured = 0.0
        self._box = _page_box(page)
        self._now = _Drawing()
        self._kept: list[_Drawing] = []
        self._base: Matrix = IDENTITY
        self._forms: list[tuple[Matrix, _Drawing, list[_Drawing], list[bool], Any]] = []
        self._resources: Any = resolved(page.get("/Resources", {}))
        self._marks: list[bool] = []  # of each open mark, whether it hides what is in it
        self._path: list[tuple[bool, Any, Matrix]] = []  # whether a rectangle, its numbers, where
        self._painted: list[Box] = []

    @property
    def is_recognised(self) -> bool:
        """True for a page that is a picture with its recognised text behind it."""
        return self.pictured >= PICTURE and self.unseen[MODE] > self.seen

    def before(self, operator: bytes, operands: Any, cm: Matrix, tm: Matrix) -> None:
        """What pypdf calls before each operator."""
        handler = HANDLERS.get(operator)
        if handler is not None:
            with contextlib.suppress(*BROKEN):
                handler(self, operands, cm, tm)

    def after(self, operator: bytes, operands: Any, cm: Matrix, tm: Matrix) -> None:
        """What pypdf calls after each operator: here, at the end of a form."""
        if operator == b"Do" and self._forms:
            self._base, self._now, self._kept, self._marks, self._resources = self._forms.pop()

    def show(self, operands: list[Any], cm: Matrix, tm: Matrix) -> None:
        """Text: counted, and emptied where it can't be seen."""
        n = sum(len(part) for part in _strings(operands))
        if why := self._why_unseen(times(times(tm, cm), self._base)):
            self.unseen[why] += n
            operands.clear()
        else:
            self.seen += n

    def _why_unseen(self, matrix: Matrix) -> str:
        now = self._now
        if any(self._marks):
            return LAYER
        if now.mode == 7 or (now.mode == 3 and not self.recognised) or now.alpha <= 0.01:
            return MODE
        if now.mode == 3:
            return ""
        height = abs(now.size) * math.sqrt(abs(area(matrix)))
        if now.measured and (height < SMALLEST or abs(now.stretch) < 1):
            return SMALL
        x, y = at(matrix, 0.0, now.rise)
        if self._box and not within(self._box, x, y, margin=max(height, 1.0)):
            return BESIDE
        bare = not any(within(box, x, y, margin=1.0) for box in self._painted)
        return WHITE if now.white and now.mode in (0, 4) and bare else ""

    def draw(self, operands: list[Any], cm: Matrix, _: Matrix) -> None:
        """A picture covers its place; a form is looked through with what holds for it."""
        here = times(cm, self._base)
        self._forms.append((self._base, self._now, self._kept, self._marks, self._resources))
        drawn = resolved(resolved(self._resources.get("/XObject", {})).get(operands[0]))
        hidden = isinstance(drawn, DictionaryObject) and is_off(drawn, self.off)
        if not isinstance(drawn, DictionaryObject) or drawn.get("/Subtype") != "/Form":
            self.picture(cm, whole=not isinstance(drawn, DictionaryObject))
            return
        own = drawn.get("/Matrix")
        self._base = times([float(part) for part in own], here) if own else here
        self._now, self._kept, self._marks = replace(self._now), [], [*self._marks, hidden]
        self._resources = resolved(drawn.get("/Resources", self._resources))

    def picture(self, cm: Matrix, *, whole: bool = False) -> None:
        """A picture fills the unit square; what can't be found is taken to fill the page."""
        box = EVERYWHERE if whole else square(times(cm, self._base))
        self._add_painted(box)
        if self._box and not whole:
            self.pictured = max(self.pictured, overlap(box, self._box))

    def add_path(self, operands: Any, cm: Matrix, *, rectangle: bool) -> None:
        """A part of the path that is being made; only what is filled is looked at again."""
        self._path.append((rectangle, operands, cm))

    def paint(self, *, fills: bool) -> None:
        """The end of a path: what it fills is no bare paper any more."""
        path, self._path = self._path, []
        if not fills or self._now.white or self._now.alpha <= 0.01:
            return
        lines: list[Box] = []
        for rectangle, operands, cm in path:
            matrix, numbers = times(cm, self._base), [float(part) for part in operands]
            if rectangle:
                self._add_painted(corners(matrix, *numbers[:4]))
            else:
                points = [at(matrix, x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
                lines += [(x, y, x, y) for x, y in points]
        if lines:
            self._add_painted(around(lines))

    def _add_painted(self, box: Box) -> None:
        self._painted.append(box)
        if len(self._painted) > MOST_BOXES:
            self._painted = [around(self._painted)]

    def mark(self, operands: list[Any]) -> None:
        """Begin a marked part: one of a hidden layer hides what is in it."""
        named = operands[1] if len(operands) > 1 and operands[0] == "/OC" else None
        layers = resolved(self._resources.get("/Properties", {})) if isinstance(named, NameObject) else {}
        entry = layers.raw_get(named) if isinstance(layers, DictionaryObject) and named in layers else None
        self._marks.append(layer_off(entry, self.off))

    def unmark(self) -> None:
        """End it."""
        if self._marks:
            self._marks.pop()

    def save(self) -> None:
        self._kept.append(replace(self._now))

    def restore(self) -> None:
        if self._kept:
            self._now = self._kept.pop()

    def set(self, **changes: Any) -> None:
        """Change the graphics state."""
        for name, value in changes.items():
            setattr(self._now, name, value)

    def font(self, name: Any, size: Any) -> None:
        """A font and its size, which says little of a font that is drawn glyph by glyph."""
        found = resolved(resolved(self._resources.get("/Font", {})).get(name, {}))
        self.set(size=float(size), measured=found.get("/Subtype") != "/Type3")

    def colour(self, values: Sequence[Any], space: int) -> None:
        """The fill colour: white is no ink in CMYK and all light in the others."""
        numbers = [float(value) for value in values if not isinstance(value, str)]
        known = bool(numbers) and len(numbers) == len(values) == space
        white = known and (max(numbers) <= 0.03 if space == 4 else min(numbers) >= 0.97)
        self.set(white=white, space=space)

    def colour_again(self, values: Sequence[Any]) -> None:
        """Another colour of the same space."""
        self.colour(values, self._now.space)

    def colour_space(self, name: Any) -> None:
        """Another space for the fill colour, which begins as black; of a space of inks no white is known."""
        found = resolved(resolved(self._resources.get("/ColorSpace", {})).get(name, name))
        if isinstance(found, ArrayObject) and found:
            kind = str(found[0])
            profile = resolved(found[1]) if kind == "/ICCBased" and len(found) > 1 else {}
            space = int(profile.get("/N", 0)) if profile else COMPONENTS.get(kind, 0)
        else:
            space = COMPONENTS.get(str(found), 0)
        self.set(space=space, white=False)

    def settings(self, name: Any) -> None:
        """Named settings: here only how far what is filled can be seen through."""
        found = resolved(resolved(self._resources.get("/ExtGState", {})).get(name, {}))
        if "/ca" in found:
            self.set(alpha=float(found["/ca"]))


def _strings(operands: Sequence[Any]) -> list[Any]:
    """The strings of an operator that shows text."""
    last = operands[-1] if operands else ()
    parts = last if isinstance(last, list) else [last]
    return [part for part in parts if isinstance(part, str | bytes)]


def _page_box(page: PageObject) -> Box | None:
    try:
        box = page.cropbox
        left, bottom, right, top = (float(edge) for edge in (box.left, box.bottom, box.right, box.top))
    except Exception:  # whatever a page without a size makes of it
        return None
    return (min(left, right), min(bottom, top), max(left, right), max(bottom, top))


def _device(space: int) -> Handler:
    return lambda sight, operands, *_: sight.colour(operands, space)


def _part(*, rectangle: bool) -> Handler:
    return lambda sight, operands, cm, _: sight.add_path(operands, cm, rectangle=rectangle)


def _painter(*, fills: bool) -> Handler:
    return lambda sight, *_: sight.paint(fills=fills)


Handler = Callable[[Sight, Any, Matrix, Matrix], None]
HANDLERS: dict[bytes, Handler] = {
    b"q": lambda sight, *_: sight.save(),
    b"Q": lambda sight, *_: sight.restore(),
    b"Tr": lambda sight, operands, *_: sight.set(mode=int(operands[0])),
    b"Tz": lambda sight, operands, *_: sight.set(stretch=float(operands[0])),
    b"Ts": lambda sight, operands, *_: sight.set(rise=float(operands[0])),
    b"Tf": lambda sight, operands, *_: sight.font(*operands[:2]),
    b"g": _device(1), b"rg": _device(3), b"k": _device(4),
    b"cs": lambda sight, operands, *_: sight.colour_space(operands[0]),
    b"sc": lambda sight, operands, *_: sight.colour_again(operands),
    b"scn": lambda sight, operands, *_: sight.colour_again(operands),
    b"gs": lambda sight, operands, *_: sight.settings(operands[0]),
    b"BDC": lambda sight, operands, *_: sight.mark(operands),
    b"BMC": lambda sight, operands, *_: sight.mark(operands),
    b"EMC": lambda sight, *_: sight.unmark(),
    b"Tj": Sight.show, b"TJ": Sight.show, b"'": Sight.show, b'"': Sight.show,
    b"Do": Sight.draw,
    b"INLINE IMAGE": lambda sight, _, cm, __: sight.picture(cm),
    b"sh": lambda sight, _, cm, __: sight.picture(cm, whole=True),
    b"re": _part(rectangle=True), **dict.fromkeys((b"m", b"l", b"c", b"v", b"y"), _part(rectangle=False)),
    b"n": _painter(fills=False), b"S": _painter(fills=False), b"s": _painter(fills=False),
    **dict.fromkeys((b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"), _painter(fills=True)),
}  # fmt: skip
