"""Real files for the tests, made here: PDF with and without a text layer, DOCX, and what is wrong with some."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence

from docx import Document as Docx
from PIL import Image
from pypdf import PdfReader, PdfWriter

CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LIGHTHOUSE = (
    "The lighthouse at Marrow Point was built in 1871 from grey granite. Its lamp burns 14 litres of oil a night. "
    "The keeper, Ida Quill, wrote the log for 32 years. In the winter of 1902 the tower was struck by lightning twice."
)
BAKERY = (
    "Sourdough at the Tern Street bakery rests for 18 hours before it is baked. The oven is heated to 240 degrees. "
    "Rye loaves are sold on Thursdays. The bakers begin work at three in the morning."
)


def pdf(pages: Sequence[str], stream: bytes = b"") -> bytes:
    """A PDF with a text layer: one page a string, lines broken every 90 characters."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"]  # fmt: skip
    kids = []
    for text in pages:
        number = len(objects) + 1
        kids.append(f"{number} 0 R")
        shown = stream or _stream(text)
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {number + 1} 0 R >>".encode())  # fmt: skip
        packed = zlib.compress(shown)
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed))  # fmt: skip
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    return _assembled(objects)


def _stream(text: str) -> bytes:
    words, lines = text.split(" "), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 90:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    shown = b"".join(b"(%s) Tj T* " % _escaped(line) for line in lines)
    return b"BT /F1 11 Tf 14 TL 50 740 Td %s ET" % shown


def _escaped(line: str) -> bytes:
    raw = line.encode("cp1252", "replace")
    return raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _assembled(objects: list[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def slow_pdf(n_pages: int) -> bytes:
    """Pages of little text and many operators: long to read, quick to index."""
    text = _stream(LIGHTHOUSE)
    return pdf([LIGHTHOUSE] * n_pages, stream=text + b" 0 0 m 1 1 l S" * 20_000)


def scanned_pdf() -> bytes:
    """A page that is a picture."""
    out = io.BytesIO()
    Image.new("RGB", (300, 400), "white").save(out, "PDF")
    return out.getvalue()


def locked_pdf(user_password: str, owner_password: str = "") -> bytes:
    """A PDF with passwords; with an empty user password it opens freely."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf([LIGHTHOUSE]))))
    writer.encrypt(user_password, owner_password or None, algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx() -> bytes:
    """Headings, paragraphs and a table with a nested one, written by python-docx."""
    document = Docx()
    document.add_heading("Harbour handbook", level=1)
    document.add_paragraph(LIGHTHOUSE)
    document.add_heading("Tides", level=2)
    table = document.add_table(rows=3, cols=2)
    for row, cells in enumerate([("Berth", "Depth"), ("North", "4.2 m"), ("South", "6.8 m")]):
        for column, words in enumerate(cells):
            table.cell(row, column).text = words
    document.add_paragraph("Ferries leave at six.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def archive(parts: dict[str, bytes]) -> bytes:
    """A DOCX archive with these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", CONTENT_TYPES)
        for name, body in parts.items():
            file.writestr(name, body)
    return out.getvalue()


def word_xml(body: str, before: str = "") -> bytes:
    """A word/document.xml."""
    return f'<?xml version="1.0"?>{before}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'.encode()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx_bomb(megabytes: int = 100) -> bytes:
    """A small archive that inflates to much, and says in its directory that it is small."""
    honest = archive({"word/document.xml": word_xml(paragraph("a" * megabytes * 1_000_000))})
    with zipfile.ZipFile(io.BytesIO(honest)) as file:
        size = file.getinfo("word/document.xml").file_size
    lie = (1000).to_bytes(4, "little")
    return honest.replace(size.to_bytes(4, "little"), lie)


def entity_docx() -> bytes:
    """Entities that would expand to billions of characters."""
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    before = f'<!DOCTYPE lol [<!ENTITY e0 "ha">{levels}]>'
    return archive({"word/document.xml": word_xml(paragraph("&e11;"), before)})


def pdf_bomb() -> bytes:
    """A page whose stream inflates to 120 MB."""
    packed = zlib.compress(b" " * 120_000_000)
    return _assembled(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << >> >> /Contents 4 0 R >>",
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        ]
    )


def looping_pdf() -> bytes:
    """A tree of pages that contains itself."""
    return _assembled(
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9999999 >>"]
    )


def ordinary_text(n_words: int, seed: int = 1) -> str:
    """Sentences of made-up but ordinary words, the same for a seed."""
    import random

    random_ = random.Random(seed)
    words = [
        "harbour",
        "lamp",
        "granite",
        "keeper",
        "ledger",
        "winter",
        "storm",
        "barley",
        "oven",
        "flour",
        "morning",
        "bridge",
        "river",
        "engine",
        "valley",
        "market",
        "copper",
        "signal",
        "letter",
        "garden",
        "wheel",
        "anchor",
        "meadow",
        "quarry",
        "ferry",
        "ballast",
        "lantern",
        "cellar",
        "orchard",
        "compass",
    ]
    out: list[str] = []
    while len(out) < n_words:
        sentence = [random_.choice(words) for _ in range(random_.randint(7, 16))]
        out += [sentence[0].capitalize(), *sentence[1:-1], f"{sentence[-1]} {random_.randint(1, 9999)}."]
    return " ".join(out)


def font_bomb(ranges: bytes) -> bytes:
    """A page whose font maps its codes to far more letters than there are."""
    head = b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 100 beginbfrange "
    cmap, shown = (
        zlib.compress(head + ranges + b"endbfrange endcmap"),
        b"BT /F1 11 Tf 50 700 Td <00410042> Tj ET",
    )
    return _assembled(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 6 0 R /DescendantFonts "
            b"[<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 1000 >>] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown),
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(cmap), cmap),
        ]
    )


def page_within_itself() -> bytes:
    """A page with a drawing that holds itself."""
    own = b"<< /XObject << /X0 4 0 R >> >>"
    return _assembled(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources %s /Contents 5 0 R >>" % own,
            b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources %s /Length 6 >>\nstream\n/X0 Do\nendstream"
            % own,
            b"<< /Length 6 >>\nstream\n/X0 Do\nendstream",
        ]
    )
