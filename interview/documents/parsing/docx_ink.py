"""Whether text of a DOCX is drawn so that a reader sees it: hidden, a speck, or white on the bare page."""

from __future__ import annotations

from dataclasses import dataclass, field

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
SPECK = 2  # half points; smaller text can't be read
SHADES = (f"{W}shd", f"{W}highlight")
INKS = (f"{W}vanish", f"{W}sz", f"{W}color", *SHADES)
OFF = ("0", "false", "off", "none")


@dataclass(frozen=True, slots=True)
class Styled:
    """Names of the styles that hide their text, make it white, or give it a ground."""

    hidden: set[str] = field(default_factory=set)
    white: set[str] = field(default_factory=set)
    shaded: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Ink:
    """How a paragraph or a run in it is drawn."""

    hidden: bool = False
    white: bool = False
    shaded: bool = False

    @property
    def unseen(self) -> bool:
        return self.hidden or (self.white and not self.shaded)

    def styled(self, style: str, styles: Styled) -> None:
        """Take up a named style."""
        self.hidden = self.hidden or style in styles.hidden
        self.white = self.white or style in styles.white
        self.shaded = self.shaded or style in styles.shaded

    def drawn(self, name: str, attributes: dict[str, str]) -> None:
        """Take up a property."""
        if name == f"{W}color":
            self.white = whitens(name, attributes)
        elif name in SHADES:
            self.shaded = True
        elif name in (f"{W}vanish", f"{W}sz"):
            self.hidden = hides(name, attributes) or (self.hidden and name != f"{W}vanish")


def whitens(name: str, attributes: dict[str, str]) -> bool:
    """True for a property that makes text white."""
    return name == f"{W}color" and attributes.get(f"{W}val", "").lower() in ("ffffff", "white")


def hides(name: str, attributes: dict[str, str]) -> bool:
    """True for a property of a run that leaves nothing to see."""
    value = attributes.get(f"{W}val", "")
    if name == f"{W}vanish":
        return value.lower() not in OFF
    return name == f"{W}sz" and value.isdigit() and int(value) <= SPECK
