"""DOCX: paragraphs, headings and tables in order, read as a stream while the archive is inflated.

Nothing is built in memory but the text, what an archive says about its sizes is not believed, and a document type
declaration (the only way to define entities) is refused.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO
from xml.parsers import expat

from interview.documents.parsing.docx_ink import INKS, SHADES, Ink, Styled, W, hides, whitens
from interview.documents.parsing.outcome import (
    DAMAGED,
    ENCRYPTED,
    NO_TEXT,
    TOO_COMPLEX,
    Parsed,
    Refused,
    Writer,
    unseen_note,
)
from interview.documents.parsing.plain import pieces

STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main "  # what "Strict Open XML" calls the same
FALLBACK = "http://schemas.openxmlformats.org/markup-compatibility/2006 Fallback"
MOST_BYTES = 64 * 1024 * 1024  # of all parts, inflated
MOST_DEPTH = 256
BLOCK = 65_536
BODIES = ("word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
MOVED = f"{W}moveFrom"  # text that was moved away stands here still; tracked changes are read as accepted
GROUNDS = (f"{W}txbxContent", f"{W}background")
HEADING = re.compile(r"(?:heading|title|überschrift|titre)\s*(\d?)", re.I)


class _Budget:
    """Inflated bytes left for the whole archive."""

    def __init__(self) -> None:
        self.left = MOST_BYTES

    def blocks(self, part: IO[bytes]) -> Iterator[bytes]:
        while block := part.read(BLOCK):
            self.left -= len(block)
            if self.left < 0:
                raise Refused(
                    TOO_COMPLEX, f"It unpacks to more than {MOST_BYTES // 2**20} MiB; that is the limit."
                )
            yield block


class _Reader:
    """Follows the elements of one part; subclasses say what they mean."""

    def __init__(self) -> None:
        self.depth = 0
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.buffer_text = True

    def read(self, blocks: Iterator[bytes]) -> None:
        try:
            for block in blocks:
                self.parser.Parse(block, False)
            self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise Refused(
                DAMAGED, f"Its text can't be read ({error}). Save it again and upload it."
            ) from error

    def _doctype(self, *_: object) -> None:
        raise Refused(TOO_COMPLEX, "It declares entities, which no word processor does.")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise Refused(TOO_COMPLEX, f"Its parts are nested more than {MOST_DEPTH} deep.")
        if name.startswith(STRICT):
            attributes = {key.replace(STRICT, W): value for key, value in attributes.items()}
        self.start(name.replace(STRICT, W), attributes)

    def _end(self, name: str) -> None:
        self.depth -= 1
        self.end(name.replace(STRICT, W))

    def start(self, name: str, attributes: dict[str, str]) -> None: ...

    def end(self, name: str) -> None: ...

    def text(self, data: str) -> None: ...


class _Styles(_Reader):
    """Which paragraph styles are headings: by name (`heading 2`) or outline level."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: dict[str, int] = {}
        self.drawn = Styled()
        self._style = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == f"{W}style":
            self._style = attributes.get(f"{W}styleId", "")
        elif name == f"{W}name" and self._style:
            if found := HEADING.fullmatch(attributes.get(f"{W}val", "")):
                self.levels[self._style] = min(6, int(found[1] or 1))
        elif name == f"{W}outlineLvl" and self._style:
            level = attributes.get(f"{W}val", "")
            if level.isdigit() and int(level) < 6:
                self.levels.setdefault(self._style, int(level) + 1)
        elif self._style:
            for named, drawn in (
                (self.drawn.hidden, hides(name, attributes)),
                (self.drawn.white, whitens(name, attributes)),
                (self.drawn.shaded, name in SHADES),
            ):
                if drawn:
                    named.add(self._style)


class _Body(_Reader):
    """Paragraphs become lines; a table's row becomes one line of cells; text boxes count once."""

    def __init__(self, writer: Writer, styles: _Styles) -> None:
        super().__init__()
        self.writer, self.styles = writer, styles
        self.runs: list[str] = []
        self.rows: list[list[str]] = []  # the cells of each open row: tables nest
        self.cells: list[list[str]] = []  # the paragraphs of each open cell
        self.level = 0
        self.in_text = False
        self.paragraph = Ink()
        self.inks: list[Ink] = []  # of the open runs: one may hold a text box
        self.grounds = 0  # open text boxes and, from its mark on, a coloured page: white may be seen on them
        self.unseen = 0
        self.skipped = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in (FALLBACK, MOVED) or self.skipped:
            self.skipped += 1
        elif name == f"{W}p":
            self.level, self.paragraph = 0, Ink()
        elif name == f"{W}pStyle":
            style = attributes.get(f"{W}val", "")
            found = HEADING.fullmatch(style)
            self.level = self.styles.levels.get(style, min(6, int(found[1] or 1)) if found else 0)
            self.paragraph.styled(style, self.styles.drawn)
        elif name == f"{W}r":
            self.inks.append(replace(self.paragraph))
        elif name == f"{W}rStyle" and self.inks:
            self.inks[-1].styled(attributes.get(f"{W}val", ""), self.styles.drawn)
        elif name in INKS:
            self._draw(name, attributes)
        elif name in GROUNDS:
            self.grounds += 1
        elif name == f"{W}t":
            self.in_text = True
        elif name in (f"{W}tab", f"{W}br", f"{W}cr", f"{W}noBreakHyphen"):
            self.runs.append({f"{W}tab": "\t", f"{W}noBreakHyphen": "\u2011"}.get(name, "\n"))
        elif name == f"{W}tr":
            self.rows.append([])
        elif name == f"{W}tc":
            self.cells.append([])

    def text(self, data: str) -> None:
        if not self.in_text or self.skipped:
            return
        if any(self._unseen(ink) for ink in self.inks):
            self.unseen += len("".join(data.split()))
        else:
            self.runs.append(data)

    def end(self, name: str) -> None:
        if self.skipped:
            self.skipped -= 1
        elif name == f"{W}t":
            self.in_text = False
        elif name == f"{W}r":
            self.inks = self.inks[:-1]
        elif name == f"{W}txbxContent":
            self.grounds -= 1
        elif name == f"{W}p":
            self._end_paragraph()
        elif name == f"{W}tc" and self.cells:
            cell = " ".join(" ".join(self.cells.pop()).split())
            if self.rows:
                self.rows[-1].append(cell)
        elif name == f"{W}tr" and self.rows:
            self._end_row(" | ".join(self.rows.pop()))

    def _draw(self, name: str, attributes: dict[str, str]) -> None:
        """A property of a run; of the paragraph's own only its ground, as the rest is of its end mark."""
        if self.inks:
            self.inks[-1].drawn(name, attributes)
        elif name in SHADES:
            self.paragraph.shaded = True

    def _unseen(self, ink: Ink) -> bool:
        return ink.hidden or (ink.unseen and not self.cells and not self.grounds)

    def _end_paragraph(self) -> None:
        text = "".join(self.runs)
        self.runs = []
        if self.cells:
            self.cells[-1].append(text)
            return
        for line in text.split("\n"):
            for piece in pieces(line):
                self.writer.line(piece, self.level)

    def _end_row(self, row: str) -> None:
        if self.cells:  # a table inside a cell
            self.cells[-1].append(row)
        elif row.strip(" |"):
            for piece in pieces(row):
                self.writer.line(piece)


def parse(path: Path) -> Parsed:
    """The document, then its foot- and endnotes. Raises Refused."""
    budget, writer = _Budget(), Writer()
    try:
        with zipfile.ZipFile(path) as archive:
            styles = _Styles()
            _read(archive, "word/styles.xml", styles, budget)
            bodies = {part: _Body(writer, styles) for part in BODIES}
            for part, body in bodies.items():
                _read(archive, part, body, budget)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, OSError) as error:
        raise Refused(DAMAGED, "The document can't be unpacked. Save it again and upload it.") from error
    except RuntimeError as error:  # what zipfile says about a password
        raise Refused(ENCRYPTED, "Save a copy without one and upload that.") from error
    unseen = sum(body.unseen for body in bodies.values())
    if not any(line.strip() for line in writer.lines):
        left_out = f" {unseen_note(unseen)}" if unseen else ""
        raise Refused(NO_TEXT, f"The document shows no text (its pages may be pictures).{left_out}")
    parsed = writer.parsed("docx")
    parsed.note = unseen_note(unseen) if unseen else ""
    return parsed


def _read(archive: zipfile.ZipFile, part: str, reader: _Reader, budget: _Budget) -> None:
    if part in archive.namelist():
        info = archive.getinfo(part)
        info.file_size = 2 * MOST_BYTES  # what the archive says of its sizes is not believed
        with archive.open(info) as file:
            reader.read(budget.blocks(file))
