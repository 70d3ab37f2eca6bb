"""PDF: the text layer page by page. A scan has none; a password keeps it shut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError, PdfReadError
from pypdf.generic import DictionaryObject

from interview.documents.parsing.outcome import (
    DAMAGED,
    ENCRYPTED,
    NO_TEXT,
    TOO_COMPLEX,
    Parsed,
    Refused,
    unseen_note,
)
from interview.documents.parsing.pdf_layers import hidden_layers
from interview.documents.parsing.pdf_sight import Sight

MOST_PAGES = 5_000
LEAST_CHARACTERS = 10  # in all, below which pages with pictures are a scan with a number or a stamp on it
SHUT = "Save a copy without one and upload that."


def parse(path: Path, progress: Callable[[int, int], None]) -> Parsed:
    """The pages with their text. Raises Refused."""
    try:
        return _parse(path, progress)
    except (FileNotDecryptedError, DependencyError) as error:
        raise Refused(ENCRYPTED, SHUT) from error
    except LimitReachedError as error:
        raise Refused(TOO_COMPLEX, "A part of the PDF unpacks to more than is allowed.") from error
    except RecursionError as error:
        raise Refused(TOO_COMPLEX, "Its objects are nested too deeply.") from error
    except PdfReadError as error:
        raise Refused(DAMAGED, f"The PDF can't be read: {error}. Save it again and upload it.") from error


def _parse(path: Path, progress: Callable[[int, int], None]) -> Parsed:
    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Refused(ENCRYPTED, SHUT)
    n_pages = len(reader.pages)
    if n_pages > MOST_PAGES:
        raise Refused(TOO_COMPLEX, f"It has {n_pages:,} pages; {MOST_PAGES:,} is the limit. Split it.")
    parsed = Parsed("pdf")
    silent = unseen = recognised = 0
    off = hidden_layers(reader.root_object)
    for number, page in enumerate(reader.pages, 1):
        text, sight = _page_text(page, off)
        silent += not text.strip()
        unseen += sum(sight.unseen.values())
        recognised += sight.recognised
        parsed.add_page(f"page {number}", text)
        progress(number, n_pages)
    if not n_pages:
        raise Refused(NO_TEXT, "The PDF has no pages.")
    if silent == n_pages and unseen:
        raise Refused(NO_TEXT, f"Its pages show no text; {unseen_note(unseen)}")
    if parsed.length - n_pages < LEAST_CHARACTERS and silent >= n_pages - 1 and _is_scan(reader, silent):
        raise Refused(
            NO_TEXT, "Its pages are pictures without a text layer (a scan). Run text recognition on it first."
        )
    parsed.note = _note(n_pages, silent, unseen, recognised)
    return parsed


def _note(n_pages: int, silent: int, unseen: int, recognised: int) -> str:
    """What its owner should know of the text that was read."""
    notes = [f"{silent} of {n_pages} pages hold no text."] if silent else []
    if recognised:
        notes.append(f"{recognised} of {n_pages} pages are pictures whose text was recognised: it may err.")
    if unseen:
        notes.append(unseen_note(unseen))
    return " ".join(notes)


def _is_scan(reader: PdfReader, silent: int) -> bool:
    """True when no page has a word, or the few that are there stand on pictures."""
    return silent == len(reader.pages) or any(_has_pictures(page) for page in reader.pages)


def _has_pictures(page: PageObject) -> bool:
    try:
        return "/XObject" in page.get("/Resources", DictionaryObject()).get_object()
    except Exception:  # whatever a broken page makes of it
        return False


def _page_text(page: PageObject, off: frozenset[int]) -> tuple[str, Sight]:
    """What a reader sees of a page's text. Behind a picture that is the text that was recognised in it."""
    sight = Sight(page, off)
    try:
        text = _extracted(page, sight)
        if sight.is_recognised:
            sight = Sight(page, off, recognised=True)
            text = _extracted(page, sight)
    except (LimitReachedError, MemoryError, RecursionError, FileNotDecryptedError, DependencyError):
        raise
    except Exception:  # one broken page (fonts, streams) must not cost the others
        return "", sight
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\x00", "\ufffd").split("\n")]
    return "\n".join(lines).strip("\n").encode("utf-8", "replace").decode("utf-8"), sight


def _extracted(page: PageObject, sight: Sight) -> str:
    return page.extract_text(visitor_operand_before=sight.before, visitor_operand_after=sight.after)
