"""A page's text as it is shown: in pieces, the cited ones marked."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from interview.documents.models import Document, Page


@dataclass(frozen=True)
class Piece:
    """A stretch of a page's text; `cited` ones are highlighted, the first of them is where a link leads."""

    text: str
    cited: bool = False
    first: bool = False


def pieces(page: Page, start: int, end: int) -> list[Piece]:
    """The page's text cut at the characters from `start` to `end` of the whole document."""
    a = min(max(0, start - page.start), len(page.text))
    b = min(max(a, end - page.start), len(page.text))
    if a == b:
        return [Piece(page.text)]
    found = [Piece(page.text[:a]), Piece(page.text[a:b], cited=True, first=True), Piece(page.text[b:])]
    return [piece for piece in found if piece.text]


def cited_url(document_id: object, start: int, end: int) -> str:
    """Where characters of a document are shown, highlighted."""
    return f"{reverse('documents:document', args=[document_id])}?from={start}&to={end}#cited"


def whole_number(value: str | None, most: int = 10**9) -> int:
    """A number of the address, 0 for anything else."""
    text = value or ""
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 12 else 0


def shown_page(document: Document, query: dict[str, str]) -> tuple[int, int, int]:
    """(page number or 0, from, to) asked for by the address."""
    return whole_number(query.get("page")), whole_number(query.get("from")), whole_number(query.get("to"))
