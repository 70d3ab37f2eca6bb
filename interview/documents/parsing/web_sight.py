"""What of a web page a reader sees when it opens: by its attributes, its own style and the page's style sheets.

Scripts and outside style sheets are not known here; what they would hide is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# Elements whose text is never shown, or only where what they stand for fails.
SILENT = {
    "script", "style", "template", "noscript", "svg", "annotation", "annotation-xml", "iframe", "object", "audio", "video",
    "canvas", "noembed", "noframes", "datalist", "rp",
}  # fmt: skip
Attributes = Mapping[str, str | None]
Style = Mapping[str, str]

BRACE = re.compile(r"[{}]")
COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.S)
PLAIN = re.compile(r"(?:[a-z][\w-]*|\*)?(?:[.#][\w-]+)*", re.I)
LENGTH = re.compile(r"(-?\d*\.?\d+)(?:e[+-]?\d+)?\s*([a-z%]*)", re.I)
SMALLEST = {"px": 1.0, "pt": 1.0}  # a size up to this is a speck; of other units only zero
FONT_SIZE = re.compile(r"(?:^|\s)(0|\d*\.?\d+(?=px|pt|em|rem|%))(px|pt|em|rem|%|)(?=[\s/])")
FAR = 900  # pixels beside the page
WHOLE = ("inset(50%)", "inset(100%)", "circle(0", "polygon(0 0, 0 0", "polygon(0px 0px, 0px 0px")


def hidden(tag: str, attributes: Attributes, sheets: Sheets) -> bool:
    """True for an element that isn't shown, with all that is in it."""
    if tag in SILENT or "hidden" in attributes or (tag == "dialog" and "open" not in attributes):
        return True
    # Marked as not there for those who listen to the page: what some readers don't get isn't quoted.
    if (attributes.get("aria-hidden") or "").strip().lower() == "true":
        return True
    own = declared(attributes["style"] or "") if "style" in attributes else {}
    return (bool(own) and unseen(own)) or ("display" not in own and sheets.hide(tag, attributes))


def declared(style: str) -> dict[str, str]:
    """The declarations of a style, lower case, the last of each name."""
    found = {}
    for part in _plain(style).split(";"):
        name, _, value = part.partition(":")
        found[name.strip().lower()] = " ".join(value.lower().replace("!important", "").split())
    return found


def _plain(style: str) -> str:
    """Without comments and escapes, which a browser reads through."""
    return ESCAPE.sub(_unescaped, COMMENT.sub(" ", style))


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else 0
    return match[2] or (chr(code) if 0 < code < 0x110000 else "\ufffd")


def unseen(style: Style) -> bool:
    """True for declarations that leave nothing to see."""
    return (
        style.get("display") == "none"
        or style.get("visibility") in ("hidden", "collapse")
        or style.get("content-visibility") == "hidden"
        or _zero(style.get("opacity", "1"))
        or _speck(style)
        or _squeezed(style)
        or _elsewhere(style)
        or _same_colour(style)
    )


def _zero(value: str) -> bool:
    found = LENGTH.fullmatch(value)
    return found is not None and abs(float(found[1])) <= 0.01


def _speck(style: Style) -> bool:
    """A size of nothing, by itself or in `font`."""
    size = style.get("font-size", "")
    found = LENGTH.fullmatch(size) if size else FONT_SIZE.search(style.get("font", "") + " ")
    return found is not None and 0 <= float(found[1]) <= SMALLEST.get(found[2], 0.0)


def _squeezed(style: Style) -> bool:
    """A box without width or height that shows nothing beside itself, or one that is cut away."""
    sides = [style.get(name, "") for name in ("width", "height", "max-width", "max-height")]
    cut = any(
        style.get(name, "").startswith(("hidden", "clip"))
        for name in ("overflow", "overflow-x", "overflow-y")
    )
    small = any(
        (found := LENGTH.fullmatch(side)) and abs(float(found[1])) <= 1 and found[2] in ("", "px")
        for side in sides
    )
    clip = style.get("clip", "").replace(",", " ").replace("px", "").split()
    path = style.get("clip-path", "")
    return (
        (cut and small)
        or "".join(clip) in ("rect(0000)", "rect(1111)")
        or path.startswith(WHOLE)
        or bool(re.search(r"\bscale(?:3d|x|y)?\(0(?:[,)\s]|\.0)", style.get("transform", "")))
    )


def _elsewhere(style: Style) -> bool:
    """Far beside or above the page."""
    indent = _pixels(style.get("text-indent", ""))
    places = [
        _pixels(style.get(name, ""))
        for name in ("left", "top", "right", "bottom", "margin-left", "margin-top")
    ]
    moved = (
        style.get("position") in ("absolute", "fixed", "relative")
        or "margin-left" in style
        or "margin-top" in style
    )
    return indent <= -FAR or (moved and min(places) <= -FAR)


def _pixels(value: str) -> float:
    found = LENGTH.fullmatch(value)
    return (
        float(found[1]) * {"em": 16.0, "rem": 16.0, "vw": 10.0, "vh": 10.0, "%": 10.0}.get(found[2], 1.0)
        if found
        else 0.0
    )


def _same_colour(style: Style) -> bool:
    """Text in the colour of its own ground, or in none."""
    ink = _colour(style.get("color", ""))
    ground = _colour(style.get("background-color", style.get("background", "")))
    return ink == "transparent" or (bool(ink) and ink == ground)


def _colour(value: str) -> str:
    """One way of writing for each of the usual colours."""
    value = {"white": "#ffffff", "black": "#000000", "snow": "#fffafa"}.get(value, value).replace(" ", "")
    if value.startswith("#") and len(value) in (4, 5):
        value = "#" + "".join(2 * digit for digit in value[1:])
    if found := re.fullmatch(r"rgba?\((\d+),(\d+),(\d+)(?:,([\d.]+))?\)", value):
        if found[4] and float(found[4]) <= 0.01:
            return "transparent"
        value = "#" + "".join(f"{min(255, int(part)):02x}" for part in found.groups()[:3])
    if re.fullmatch(r"#[0-9a-f]{8}", value):
        value = "transparent" if value.endswith("00") else value[:7]
    return value


@dataclass(frozen=True, slots=True)
class Rule:
    """A plain selector (`.note`, `p.note`, `#note`) in parts, how much it counts, and whether it hides."""

    kind: str
    names: frozenset[str]
    weight: tuple[int, int, int]
    hides: bool


class Sheets:
    """The page's own style sheets, as far as they hide elements by plain selectors. Rules for print, small screens and the
    like are left alone."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Rule]] = {}

    def add(self, sheet: str) -> None:
        """Take up the rules of a sheet."""
        for selectors, body in _blocks(COMMENT.sub(" ", sheet)):
            style = declared(body)
            hides = unseen(style)
            if not hides and not {"display", "visibility", "opacity", "font-size"} & set(style):
                continue
            for selector in (_plain(part).strip() for part in selectors.split(",")):
                if selector and selector != "*" and PLAIN.fullmatch(selector):
                    rule = _rule(selector, hides)
                    self._by_name.setdefault(min(rule.names, default=rule.kind), []).append(rule)

    def hide(self, tag: str, attributes: Attributes) -> bool:
        """True where the rule that counts most for an element hides it; of equal ones the last."""
        if not self._by_name:
            return False
        names = {f".{name}" for name in (attributes.get("class") or "").split()} | {
            f"#{attributes.get('id')}"
        }
        found = [rule for name in (tag, *names) for rule in self._by_name.get(name, ())]
        found = [rule for rule in found if rule.kind in ("", "*", tag) and rule.names <= names]
        heaviest = max((rule.weight for rule in found), default=None)
        return bool(found) and [rule for rule in found if rule.weight == heaviest][-1].hides


def _rule(selector: str, hides: bool) -> Rule:
    kind, *names = re.split(r"(?=[.#])", selector)
    n_ids = sum(name.startswith("#") for name in names)
    weight = (n_ids, len(names) - n_ids, int(kind not in ("", "*")))
    return Rule(kind.lower(), frozenset(names), weight, hides)


def _blocks(sheet: str) -> Iterator[tuple[str, str]]:
    """(selectors, declarations) of the rules that stand in no other."""
    at = 0
    while (opened := sheet.find("{", at)) >= 0:
        selectors = sheet[at:opened].rpartition(";")[2].strip()
        closed = _closing(sheet, opened)
        if not selectors.startswith("@"):
            yield selectors, sheet[opened + 1 : closed]
        at = closed + 1


def _closing(sheet: str, opened: int) -> int:
    depth = 0
    for match in BRACE.finditer(sheet, opened):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(sheet)
