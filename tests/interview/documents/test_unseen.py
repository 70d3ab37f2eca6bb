"""Text that a reader can't see is not read: an answer must not quote what nobody finds on the page. Bytes in, outcome out."""

from __future__ import annotations

import io
from typing import Any

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, NameObject

from tests.interview.documents import files
from tests.interview.documents.conftest import Read, text_of

SHEET = "<style>.a, p.b {display: none} .a.on {display: block} @media print {.c {display: none}}</style>"
PAGES = {
    "an attribute": "<p hidden>SECRET</p>seen",
    "no end tag": "<p hidden>SECRET<p>seen",
    "its style": '<div style="display:none">SECRET<br><b>SECRET</b></div>seen',
    "its style in disguise": '<p style="d\\69splay:/**/none !important">SECRET</p>seen',
    "hidden from those who listen": "<p aria-hidden=true>SECRET</p>seen",
    "no size": '<p style="font-size:0">SECRET</p><p style="font:0/0 a">SECRET</p>seen',
    "no width": '<p style="width:0;overflow:hidden">SECRET</p>seen',
    "cut away": '<p style="clip: rect(0, 0, 0, 0)">SECRET</p>seen',
    "far beside": '<p style="position:absolute;left:-9999px">SECRET</p>seen',
    "its own ground": '<p style="color:#fff;background:white">SECRET</p>seen',
    "no ink": '<p style="color:rgba(0,0,0,0)">SECRET</p><p style="opacity:0">SECRET</p>seen',
    "a style sheet": f'{SHEET}<p class="a">SECRET<p class=b>SECRET</p><p class="a on">seen<p class="c">seen',
    "items without an end": "<ul><li hidden><b>SECRET<li>seen</ul>",
    "cells and rows": "<table><tr><td hidden>SECRET<td>seen<tr hidden><td>SECRET<tr><td>seen</table>",
    "an end that isn't its own": "<span><div hidden>SECRET</span>SECRET</div>seen</span>",
    "an end of what is round it": "<div><b hidden>SECRET</div>seen",
    "a paragraph round it": "<p>seen<div hidden>SECRET</p>SECRET</div>seen",
    "a slash that ends nothing": "<div hidden/>SECRET</div>seen",
    "a drawing in a drawing": "<svg><svg></svg><text>SECRET</text></svg>seen",
    "a closed dialog": "<dialog>SECRET</dialog><dialog open>seen</dialog>",
    "a formula's source": "<math><mi>seen</mi><annotation>SECRET</annotation></math>",
}


@pytest.mark.parametrize("what", PAGES)
def test_a_page_is_read_as_it_opens(read: Read, what: str) -> None:
    text = text_of(read("a.html", f"<html>{PAGES[what]}".encode()))
    assert "SECRET" not in text
    assert set(text.split()) == {"seen"}


@pytest.mark.parametrize(
    "page",
    [
        "<img hidden>seen",
        "<p style='opacity:.5'>seen",
        "<p style='font-size:calc(1px + 2vw)'>seen",
        "<p style='font:700 12px/1.5 a'>seen",
        "<p hidden style='x'></p>seen",
        "<p aria-hidden=false>seen",
        "<style>p{display:none} p{display:block}</style><p>seen",
        "<details><summary>seen</summary>seen</details>",
    ],
)
def test_what_is_shown_is_kept(read: Read, page: str) -> None:
    assert set(text_of(read("a.html", f"<html>{page}".encode())).split()) == {"seen"}


def test_the_owner_is_told_what_was_left_out(read: Read) -> None:
    found = read("a.html", b"<html><p hidden>SECRET</p>seen")
    assert found["note"] == "6 characters that a reader can't see were left out."
    found = read("a.html", b"<html><body hidden>SECRET")
    assert found["refused"] == "no_text"
    assert "6 characters" in found["detail"]


def test_deep_hidden_html_costs_little(read: Read) -> None:
    page = b"<html><div hidden>" + b"<b>" * 100_000 + b"</i></span>" * 100_000 + b"</div>seen"
    assert text_of(read("a.html", page)) == "seen"


def run(words: str, properties: str = "") -> str:
    return f"<w:p><w:r><w:rPr>{properties}</w:rPr><w:t>{words}</w:t></w:r></w:p>"


WHITE = '<w:color w:val="FFFFFF"/>'
BODIES = {
    "hidden": run("SECRET", "<w:vanish/>") + run("seen", '<w:vanish w:val="0"/>'),
    "by its style": run("SECRET", '<w:rStyle w:val="H"/>') + run("seen"),
    "a speck": run("SECRET", '<w:sz w:val="2"/>') + run("seen", '<w:sz w:val="20"/>'),
    "white": run("SECRET", WHITE) + run("seen", f'{WHITE}<w:shd w:fill="000000"/>'),
    "white in a table": f"<w:tbl><w:tr><w:tc>{run('seen', WHITE)}</w:tc></w:tr></w:tbl>",
    "moved away": f"<w:moveFrom>{run('SECRET')}</w:moveFrom>{run('seen')}",
    "its end mark only": "<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr><w:r><w:t>seen</w:t></w:r></w:p>",
}


@pytest.mark.parametrize("what", BODIES)
def test_a_docx_is_read_as_it_shows(read: Read, what: str) -> None:
    styles = f'<w:styles xmlns:w="{files.W}"><w:style w:styleId="H"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>'
    parts = {"word/document.xml": files.word_xml(BODIES[what]), "word/styles.xml": styles.encode()}
    found = read("a.docx", files.archive(parts))
    assert set(text_of(found).split()) == {"seen"}


SEEN = b"BT /F1 12 Tf 50 700 Td (seen) Tj ET "
STREAMS = {
    "the invisible mode": b"q 3 Tr BT /F1 12 Tf 50 600 Td (SECRET) Tj ET Q",
    "white on white": b"1 1 1 rg BT /F1 12 Tf 50 600 Td [(SEC) -10 (RET)] TJ ET",
    "no ink": b"0 0 0 0 k BT /F1 12 Tf 50 600 Td (SECRET) ' ET",
    "white of a named space": b"/DeviceRGB cs 1 1 1 sc BT /F1 12 Tf 50 600 Td (SECRET) Tj ET",
    "a speck": b"BT /F1 0.5 Tf 50 600 Td (SECRET) Tj ET",
    "a speck by its matrix": b"q 0.01 0 0 0.01 50 600 cm BT /F1 12 Tf (SECRET) Tj ET Q",
    "beside the page": b"BT /F1 12 Tf -500 600 Td (SECRET) Tj ET",
    "white on a dark ground": b"0 g 40 590 200 30 re f 1 g BT /F1 12 Tf 50 600 Td (seen) Tj ET",
    "white on a drawn ground": b"0 g 40 590 m 240 590 l 240 620 l 40 620 l f 1 g BT /F1 12 Tf 50 600 Td (seen) Tj ET",
    "a size by its matrix": b"BT /F1 1 Tf 12 0 0 12 50 600 Tm (seen) Tj ET",
    "operands that make no sense": b"/x Tr (a) g 1 2 re f BT /F1 12 Tf 50 600 Td (seen) Tj ET",
}


@pytest.mark.parametrize("what", STREAMS)
def test_a_pdf_is_read_as_it_shows(read: Read, what: str) -> None:
    found = read("a.pdf", files.pdf([""], stream=SEEN + STREAMS[what]))
    assert set(text_of(found).split()) == {"seen"}
    assert bool(found["note"]) is (b"SECRET" in STREAMS[what] or b"(SEC)" in STREAMS[what])


def test_the_recognised_text_of_a_scan_is_read_and_said_to_be_that(read: Read) -> None:
    picture = b"q 612 0 0 792 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x00 EI Q "
    found = read("a.pdf", files.pdf([""], stream=picture + b"3 Tr " + SEEN))
    assert text_of(found) == "seen"
    assert "recognised" in found["note"]
    found = read("a.pdf", files.pdf([""], stream=b"3 Tr " + SEEN))
    assert found["refused"] == "no_text"
    words = b"BT /F1 12 Tf 50 500 Td (A page with words of its own.) Tj ET "
    found = read("a.pdf", files.pdf([""], stream=picture + words + b"3 Tr " + SEEN))
    assert text_of(found) == "A page with words of its own."


def layered() -> bytes:
    """A page with a layer that is off, in its own stream and as a form."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(files.pdf(["seen"]))))
    layer = writer._add_object(DictionaryObject({NameObject("/Type"): NameObject("/OCG")}))
    off: dict[Any, Any] = {NameObject("/OFF"): ArrayObject([layer])}
    writer.root_object[NameObject("/OCProperties")] = DictionaryObject(
        {NameObject("/OCGs"): ArrayObject([layer]), NameObject("/D"): DictionaryObject(off)}
    )
    page = writer.pages[0]
    resources: Any = page["/Resources"]
    form = DecodedStreamObject()
    form.set_data(b"BT /F1 12 Tf 50 500 Td (SECRET) Tj ET")
    form.update({NameObject("/Subtype"): NameObject("/Form"), NameObject("/OC"): layer})
    form[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): resources["/Font"]})
    resources[NameObject("/XObject")] = DictionaryObject({NameObject("/X0"): writer._add_object(form)})
    resources[NameObject("/Properties")] = DictionaryObject({NameObject("/L0"): layer})
    stream = DecodedStreamObject()
    marked = b"/OC /L0 BDC BT /F1 12 Tf 50 600 Td (SECRET) Tj ET EMC /X0 Do "
    stream.set_data(marked + b"/Span <</x 1>> BDC BT /F1 12 Tf 50 700 Td (What can be seen.) Tj ET EMC")
    page[NameObject("/Contents")] = writer._add_object(stream)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_layers_that_are_off_are_not_read(read: Read) -> None:
    assert text_of(read("a.pdf", layered())) == "What can be seen."
