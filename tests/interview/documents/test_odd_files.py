"""Odd but real files: what a parser of bytes makes of them. No database, no child process: bytes in, outcome out."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfReader, PdfWriter

from tests.interview.documents import files
from tests.interview.documents.conftest import Read, text_of

RUSSIAN = "Маяк стоит на мысе. Свет виден за сорок миль."
JAPANESE = "灯台は一八七一年に花崗岩で建てられました。灯台守は日誌を書きました。"
POLISH = "Zażółć gęślą jaźń. Most otwarto i kosztował dużo pieniędzy."


@pytest.mark.parametrize(
    ("words", "encoding", "recorded"),
    [
        (RUSSIAN, "utf-16-le", "utf-16-le"),
        (RUSSIAN, "utf-16-be", "utf-16-be"),
        (JAPANESE, "utf-16-le", "utf-16-le"),
        (JAPANESE, "utf-16-be", "utf-16-be"),
        (JAPANESE, "euc_jp", "euc_jp"),
        ("Hello there, this is UTF-32.", "utf-32", "utf-32"),
        ("מגדל האור נבנה באבן אפורה.", "utf-16-le", "utf-16-le"),
        ("大桥于一九三二年开放，由石匠建造。河流很长。", "gb18030", "gb18030"),
        (POLISH, "cp1250", "cp1250"),
        ("Le phare a été bâti là-bas – « déjà » €5.", "cp1252", "cp1252"),
        ("café", "cp1252", "cp1252"),
        ("Αυτό είναι ελληνικό κείμενο για γέφυρες.", "cp1253", "cp1253"),
    ],
)  # fmt: skip
def test_text_without_a_mark_is_read(read: Read, words: str, encoding: str, recorded: str) -> None:
    found = read("a.txt", words.encode(encoding))
    assert (text_of(found), found["encoding"]) == (words, recorded)


def test_a_page_says_its_own_encoding(read: Read) -> None:
    page = '<html><head><meta charset="{}"></head><p>Привет</p></html>'
    assert text_of(read("a.html", page.format("windows-1251").encode("cp1251"))) == "Привет"
    declared = '<?xml version="1.0" encoding="windows-1251"?><html><p>Привет</p></html>'
    assert text_of(read("a.html", declared.encode("cp1251"))) == "Привет"
    # A page that declares an encoding it can't be in is read all the same.
    assert text_of(read("a.html", '<meta charset="utf-16"><p>Tür zu</p>'.encode("cp1252"))) == "Tür zu"


@pytest.mark.parametrize(
    ("raw", "rows"),
    [
        ("Name;Preis;Ort\nApfel;1,50;Köln\n".encode("cp1252"), ["Name: Apfel; Preis: 1,50; Ort: Köln"]),
        (b"sep=;\r\nName;Preis\r\nApfel;1,5\r\n", ["Name: Apfel; Preis: 1,5"]),
        (b'"sep=\t"\na\tb\n1\t2\n', ["a: 1; b: 2"]),
        (
            b'name,notes\n"Lee, Ann","two\nlines ""quoted"""\nBo,\n',
            ['name: Lee, Ann; notes: two lines "quoted"', "name: Bo"],
        ),
        (b"a,a,b\n1,2,3\n", ["a: 1; a: 2; b: 3"]),
        (b"a,b\n1\n1,2,3,4\n", ["a: 1", "a: 1; b: 2; 3; 4"]),
        (b"only\nx\ny\n", ["only: x", "only: y"]),
        (b"a,b\n", ["a; b"]),
    ],
)
def test_tables_of_every_habit_keep_their_headers(read: Read, raw: bytes, rows: list[str]) -> None:
    assert text_of(read("t.csv", raw)).split("\n") == rows


OPEN = "A quotation mark is not closed on line "


@pytest.mark.parametrize(
    ("raw", "rows", "lines"),
    [
        ('a,b\n1,"open\n2,x\n3,y\n', ['a: 1; b: "open', "a: 2; b: x", "a: 3; b: y"], "2"),
        ('a,b\n1,"open\n2,"x"\n3,y\n', ['a: 1; b: "open', "a: 2; b: x", "a: 3; b: y"], "2"),
        ('a,"b\n1,2\n', ['a: 1; "b: 2'], "1"),
        ('sep=;\na;b\n1;"o\n2;x\n', ['a: 1; b: "o', "a: 2; b: x"], "3"),
        ('a,b\n"two\nlines",1\n"open,2\n3,4', ["a: two lines; b: 1", 'a: "open; b: 2', "a: 3; b: 4"], "4"),
        ('a,b\n1,5" pipe\n2,"x"y\n', ['a: 1; b: 5" pipe', "a: 2; b: xy"], ""),
    ],
)
def test_a_mark_that_is_not_closed_swallows_nothing(
    read: Read, raw: str, rows: list[str], lines: str
) -> None:
    found = read("t.csv", raw.encode())
    assert text_of(found).split("\n") == rows
    assert found["note"] == (f"{OPEN}{lines}: read up to the end of the line." if lines else "")


def test_many_open_marks_cost_little(read: Read) -> None:
    found = read("t.csv", b"a,b\n" + b'1,"x\n' * 30_000)
    assert text_of(found).count("\n") == 29_999
    assert found["note"].startswith(f"{OPEN[:-1]}s 2, 3, 4, 5, 6, …")


def test_tables_within_tables_keep_their_cells_in_order(read: Read) -> None:
    page = (
        b"<html><table><tr><td>A</td><td><table><tr><td>in one</td><td>in two</td></tr></table></td><td>C</td></tr>"
        b"<tr><td>D</td><td></td><td>F</td></tr></table><p>After"
    )
    assert text_of(read("a.html", page)) == "A\nin one | in two\nC\nD | | F\nAfter"
    inner = f"<w:tbl><w:tr><w:tc>{files.paragraph('n1')}</w:tc><w:tc>{files.paragraph('n2')}</w:tc></w:tr></w:tbl>"
    outer = f"<w:tbl><w:tr><w:tc>{files.paragraph('A')}{inner}</w:tc><w:tc>{files.paragraph('B')}</w:tc></w:tr></w:tbl>"
    made = files.archive({"word/document.xml": files.word_xml(outer)})
    assert text_of(read("a.docx", made)) == "A n1 | n2 | B"


def test_markdown_knows_front_matter_underlines_and_fences(read: Read) -> None:
    text = "---\ntitle: x\n# no\n---\nBoats\n=====\n\nOars\n----\nAsh.\n\n~~~\n```\n# no\n~~~\n## Sails ##\na\n---\n\n- b\n---\n"
    found = read("a.md", text.encode())
    assert [(level, words) for _, level, words in found["headings"]] == [
        (1, "Boats"), (2, "Oars"), (2, "Sails"),
    ]  # fmt: skip
    assert text_of(found) == text
    assert all(text[at:].startswith(words[:1]) or text[at] == "#" for at, _, words in found["headings"])
    assert read("a.txt", b"Boats\n=====\n")["headings"] == []


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        ("unseen.txt", "\u200b\ufeff \u2060\n".encode(), "no_text"),
        ("unseen.html", "<html><p>\u200b</p>".encode(), "no_text"),
        ("mark.txt", b"\xff\xfe", "no_text"),
        ("a.zst", b"\x28\xb5\x2f\xfd0000000000", "unsupported_type"),
        ("a.xz", b"\xfd7zXZ\x00\x00", "unsupported_type"),
        ("a.docx", b"PK\x05\x06" + bytes(18), "unsupported_type"),
        ("a.db", b"SQLite format 3\x00" + b"\x10\x00" * 50, "unsupported_type"),
        ("pages.pdf", files.pdf([]), "no_text"),
    ],
)
def test_what_holds_nothing_to_read_is_named(read: Read, name: str, raw: bytes, reason: str) -> None:
    found = read(name, raw)
    assert found.get("refused") == reason, found
    assert found["detail"]


def test_a_text_that_speaks_of_pdf_is_text(read: Read) -> None:
    assert read("a.txt", b"Files begin with %PDF-1.7 on their first line.")["kind"] == "txt"


def unlocked() -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(files.pdf([files.LIGHTHOUSE]))))
    writer.encrypt("", "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


GOOD = files.pdf([files.LIGHTHOUSE])
ODD_PDFS = {
    "bytes before it": b"HTTP/1.1 200 OK\r\n\r\n" + GOOD,
    "bytes after it": GOOD + bytes(3000) + b"more",
    "a wrong place of its table": GOOD.replace(b"startxref\n", b"startxref\n9"),
    "no size of its page": GOOD.replace(b"/MediaBox [0 0 612 792]", b""),
    "a turned page": GOOD.replace(b"/MediaBox", b"/Rotate 90 /MediaBox"),
    "an old lock for its owner": unlocked(),
}


@pytest.mark.parametrize("what", ODD_PDFS)
def test_pdfs_with_small_faults_are_read(read: Read, what: str) -> None:
    assert "grey granite" in text_of(read("a.pdf", ODD_PDFS[what])).replace("\n", " ")


def test_a_pdf_of_one_word_is_no_scan(read: Read) -> None:
    assert text_of(read("a.pdf", files.pdf(["Yes."]))) == "Yes."
    assert read("a.pdf", files.pdf([""]))["refused"] == "no_text"


def test_a_font_that_maps_to_millions_of_letters_is_bounded(read: Read) -> None:
    assert read("a.pdf", files.font_bomb(b"<0000> <FFFFFFFF> <0000> "))["refused"] == "too_complex"


def test_a_page_that_draws_itself_ends(read: Read) -> None:
    assert read("a.pdf", files.page_within_itself())["refused"] == "no_text"


def test_strict_open_xml_is_read(read: Read) -> None:
    body = files.word_xml(files.paragraph("Strictly open."))
    strict = body.replace(files.W.encode(), b"http://purl.oclc.org/ooxml/wordprocessingml/main")
    assert text_of(read("a.docx", files.archive({"word/document.xml": strict}))) == "Strictly open."


def test_a_document_in_utf16_inside_its_archive_is_read(read: Read) -> None:
    wide = files.word_xml(files.paragraph("Wide.")).decode().replace("?>", ' encoding="UTF-16"?>', 1)
    assert text_of(read("a.docx", files.archive({"word/document.xml": wide.encode("utf-16")}))) == "Wide."


@pytest.mark.parametrize(
    ("name", "raw"),
    [("a.txt", b"word " * 300_000), ("a.txt", b"x" * 1_500_000), ("a.html", b"<p>" + b"y " * 700_000)],
)
def test_one_huge_line_becomes_parts_and_loses_nothing(read: Read, name: str, raw: bytes) -> None:
    found = read(name, raw)
    assert len(found["pages"]) > 200
    assert max(len(text) for _, text in found["pages"]) <= 10_000
    kept = "".join(text_of(found).split())
    assert len(kept) == len("".join(raw.decode().removeprefix("<p>").split()))
