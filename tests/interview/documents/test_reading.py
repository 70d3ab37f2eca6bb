"""What becomes of every sort of file, read by the real child process and indexed by the real embedder."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import psutil
import pytest
from PIL import Image

from interview.accounts.models import User
from interview.documents.models import FAILED, READY, Document, Page, Passage
from tests.interview.documents import files
from tests.interview.documents.conftest import Upload

pytestmark = pytest.mark.django_db


def text_of(document: Document) -> str:
    pages = Page.objects.filter(document=document, version=document.version)
    return "\n".join(page.text for page in pages)


def check_offsets(document: Document) -> None:
    """Every passage is the text itself, at its place, on its page."""
    text = text_of(document)
    pages = {page.number: page for page in Page.objects.filter(document=document, version=document.version)}
    found = Passage.objects.filter(document=document, version=document.version)
    assert found
    for passage in found:
        assert text[passage.start : passage.end] == passage.text
        page = pages[passage.page]
        assert page.start <= passage.start <= page.start + len(page.text)


def test_a_pdf_keeps_its_pages(owner: User, upload: Upload) -> None:
    document = upload(owner, "two.pdf", files.pdf([files.LIGHTHOUSE, files.BAKERY]))
    assert (document.state, document.kind, document.n_pages) == (READY, "pdf", 2)
    check_offsets(document)
    bakery = Passage.objects.get(document=document, text__contains="Rye loaves", page=2)
    assert "Tern Street" in bakery.text.replace("\n", " ")


def test_a_docx_keeps_headings_rows_and_cells_in_order(owner: User, upload: Upload) -> None:
    document = upload(owner, "handbook.docx", files.docx())
    assert (document.state, document.kind) == (READY, "docx")
    check_offsets(document)
    text = text_of(document)
    rows = ["Berth | Depth", "North | 4.2 m", "South | 6.8 m"]
    assert [line for line in text.split("\n") if "|" in line] == rows
    assert text.index("South | 6.8 m") < text.index("Ferries leave at six.")
    table = Passage.objects.get(document=document, text__contains="South | 6.8 m")
    assert table.heading == "Harbour handbook › Tides"


def test_csv_rows_keep_their_header(owner: User, upload: Upload) -> None:
    document = upload(owner, "berths.csv", b'berth;depth;note\nNorth;4.2;"deep; rocky"\nSouth;6.8;\n')
    assert text_of(document) == "berth: North; depth: 4.2; note: deep; rocky\nberth: South; depth: 6.8"
    check_offsets(document)


def test_html_shows_what_a_reader_sees(owner: User, upload: Upload) -> None:
    page = (
        "<!doctype html><title>Harbour</title><style>p{}</style><script>var secret</script><h1>Tides</h1>"
        "<p>High water is at <b>six</b>.</p><table><tr><td>North</td><td>4.2</td></tr></table>"
    )
    document = upload(owner, "page.html", page.encode())
    assert document.kind == "html"
    assert text_of(document) == "Harbour\nTides\nHigh water is at six.\nNorth | 4.2"
    check_offsets(document)


def test_markdown_headings_lead_their_passages(owner: User, upload: Upload) -> None:
    document = upload(
        owner, "notes.md", b"# Boats\n\n## Oars\nAsh is light.\n\n```\n# no heading\n```\n# Sails\nFlax.\n"
    )
    headings = list(Passage.objects.filter(document=document).values_list("heading", flat=True))
    assert headings == ["Boats › Oars", "Sails"]
    check_offsets(document)


@pytest.mark.parametrize(
    ("encoding", "recorded", "words"),
    [
        ("utf-8", "utf-8", "Das Leuchtfeuer über dem Kap."),
        ("utf-8-sig", "utf-8-sig", "Das Leuchtfeuer über dem Kap."),
        ("utf-16", "utf-16", "Das Leuchtfeuer über dem Kap."),
        ("utf-16-le", "utf-16-le", "The lamp above the cape burns all night long."),
        ("utf-16-be", "utf-16-be", "The lamp above the cape burns all night long."),
        ("cp1252", "cp1252", "Das Leuchtfeuer über dem Kap heißt “Möwe” – seit 1871."),
        (
            "shift_jis",
            "cp932",
            "灯台は一八七一年に花崗岩で建てられました。灯台守は三十二年間日誌を書きました。",
        ),
        ("cp1251", "cp1251", "Маяк был построен из серого гранита. Смотритель вёл журнал тридцать два года."),
    ],
)
def test_encodings_are_read_and_recorded(
    owner: User, upload: Upload, encoding: str, recorded: str, words: str
) -> None:
    document = upload(owner, "log.txt", words.encode(encoding))
    assert text_of(document) == words
    assert document.encoding == recorded
    check_offsets(document)


def picture() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "PNG")
    return out.getvalue()


def deep_docx() -> bytes:
    return files.archive({"word/document.xml": files.word_xml("<w:p>" * 5000 + "</w:p>" * 5000)})


def spreadsheet() -> bytes:
    return files.archive({"xl/workbook.xml": b"<x/>"})


REFUSED = {
    "scan.pdf": (files.scanned_pdf, "no_text"),
    "locked.pdf": (lambda: files.locked_pdf("sesame"), "encrypted"),
    "cut.pdf": (lambda: files.pdf([files.LIGHTHOUSE])[:300], "damaged"),
    "bomb.pdf": (files.pdf_bomb, "too_complex"),
    "looping.pdf": (files.looping_pdf, None),
    "bomb.docx": (files.docx_bomb, "too_complex"),
    "bomb.doc": (files.docx_bomb, "too_complex"),
    "entities.docx": (files.entity_docx, "too_complex"),
    "deep.docx": (deep_docx, "too_complex"),
    "cut.docx": (lambda: files.docx()[:-200], "damaged"),
    "broken.docx": (lambda: files.archive({"word/document.xml": b"<w:doc"}), "damaged"),
    "empty.docx": (lambda: files.archive({"word/document.xml": files.word_xml("")}), "no_text"),
    "sheet.docx": (spreadsheet, "unsupported_type"),
    "plain.zip": (lambda: files.archive({"a.txt": b"text"}), "unsupported_type"),
    "old.doc": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "unsupported_type"),
    "photo.txt": (picture, "unsupported_type"),
    "log.gz": (lambda: gzip.compress(b"text"), "unsupported_type"),
    "data.txt": (lambda: bytes(range(256)) * 40, "unsupported_type"),
    "blank.txt": (lambda: b" \n\t\n", "no_text"),
    "scripts.html": (lambda: b"<html><script>x()</script></html>", "no_text"),
    "long.txt": (lambda: b"word " * 500_000, "too_large"),
    "wide.csv": (lambda: b"a," * 5000 + b"\n1,2\n", "too_complex"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_says_why_and_leaves_nothing_to_search(
    owner: User, upload: Upload, name: str
) -> None:
    make, reason = REFUSED[name]
    document = upload(owner, name, make())
    assert document.state == FAILED
    assert document.reason == reason or (
        reason is None and document.reason in ("damaged", "too_complex", "no_text")
    )
    assert document.detail and document.run is not None and document.run.reason == document.reason_words
    assert not Passage.objects.filter(document=document).exists()
    assert not Page.objects.filter(document=document).exists()


def test_the_next_job_is_unharmed(owner: User, upload: Upload) -> None:
    assert upload(owner, "bomb.docx", files.docx_bomb()).state == FAILED
    assert upload(owner, "after.txt", b"The next one is read.").state == READY


def test_a_pdf_that_opens_without_a_password_is_accepted(owner: User, upload: Upload) -> None:
    document = upload(owner, "restricted.pdf", files.locked_pdf("", "owner only"))
    assert document.state == READY
    assert "granite" in text_of(document)


def test_the_type_is_told_by_the_content(owner: User, upload: Upload) -> None:
    assert upload(owner, "really.txt", files.pdf([files.LIGHTHOUSE])).kind == "pdf"
    assert upload(owner, "really.pdf", files.docx()).kind == "docx"
    assert upload(owner, "really.docx", b"<html><body><p>A page.</p></body></html>").kind == "html"


def test_deep_html_costs_nothing(owner: User, upload: Upload) -> None:
    document = upload(owner, "deep.html", b"<html>" + b"<div>" * 200_000 + b"The bottom of it.")
    assert (document.state, text_of(document)) == (READY, "The bottom of it.")


def test_a_bomb_never_takes_this_processs_memory(owner: User, upload: Upload) -> None:
    before = psutil.Process().memory_info().rss
    for name in ("bomb.docx", "bomb.pdf"):
        make, _ = REFUSED[name]
        upload(owner, name, make())
    made_by_the_test = 260_000_000  # the bombs themselves are built here
    assert psutil.Process().memory_info().rss - before < made_by_the_test


def test_a_silent_page_among_others_is_noted(owner: User, upload: Upload) -> None:
    document = upload(owner, "gap.pdf", files.pdf([files.LIGHTHOUSE, "", files.BAKERY]))
    assert document.detail == "1 of 3 pages hold no text."


def test_notes_and_text_boxes_of_a_docx_count_once(owner: User, upload: Upload) -> None:
    body = (
        '<w:p xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:r><mc:AlternateContent>'
        '<mc:Choice Requires="wps"><w:t>Boxed once.</w:t></mc:Choice><mc:Fallback><w:t>Boxed once.</w:t></mc:Fallback>'
        "</mc:AlternateContent></w:r></w:p><w:p><w:r><w:t>Kept.</w:t></w:r><w:del><w:r><w:delText>Gone.</w:delText></w:r></w:del></w:p>"
    )
    notes = f'<w:footnotes xmlns:w="{files.W}"><w:footnote>{files.paragraph("A footnote.")}</w:footnote></w:footnotes>'
    made = files.archive({"word/document.xml": files.word_xml(body), "word/footnotes.xml": notes.encode()})
    assert text_of(upload(owner, "notes.docx", made)) == "Boxed once.\nKept.\nA footnote."


def test_archives_are_read_where_they_lie(tmp_path: Path) -> None:
    """The bomb lies about its size: the directory says one kilobyte."""
    with zipfile.ZipFile(io.BytesIO(files.docx_bomb(5))) as archive:
        assert archive.getinfo("word/document.xml").file_size == 1000
