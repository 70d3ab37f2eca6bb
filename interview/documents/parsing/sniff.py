"""What a file is, by its content. The name only tells apart kinds of plain text, which look alike."""

from __future__ import annotations

import re
import unicodedata
import zipfile
from pathlib import Path

from interview.documents.parsing.outcome import DAMAGED, EMPTY, ENCRYPTED, UNSUPPORTED, Refused

HEAD = 4096
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
BINARY = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"\x1f\x8b": "a gzip archive",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"\x7fELF": "a program",
    b"MZ": "a program",
    b"{\\rtf": "an RTF document",
    b"%!PS": "a PostScript file",
    b"PK\x05\x06": "an empty archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"\xfd7zXZ": "an XZ archive",
    b"SQLite format 3\x00": "a database",
}
OFFICE = {
    "xl/workbook.xml": "a spreadsheet",
    "ppt/presentation.xml": "a presentation",
    "content.xml": "an OpenDocument file",
    "META-INF/container.xml": "an EPUB book",
}
ALLOWED = "Allowed: PDF, DOCX, TXT, MD, HTML, CSV."
BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.I | re.S,
)
SUFFIXES = {
    ".md": "md",
    ".markdown": "md",
    ".csv": "csv",
    ".tsv": "csv",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}


def kind_of(path: Path, name: str) -> str:
    """pdf, docx, html, csv, md or txt. Raises Refused for everything else, saying what it is."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not head:
        raise Refused(EMPTY, "The file has 0 bytes.")
    if _is_pdf(path, head):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _archive(path)
    if head.startswith(OLE):
        raise _ole(path)
    for magic, what in BINARY.items():
        if head.startswith(magic):
            raise Refused(UNSUPPORTED, f"This is {what}. {ALLOWED}")
    if b"\x00" in head and not head.startswith(BOMS) and not looks_like_utf16(head):
        raise Refused(UNSUPPORTED, f"This is not text. {ALLOWED}")
    if HTML_START.match(head):
        return "html"
    return SUFFIXES.get(Path(name).suffix.lower(), "txt")


def _is_pdf(path: Path, head: bytes) -> bool:
    """True for a PDF, also behind a few stray bytes; a text that only speaks of one has no end of file mark."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(b"%PDF-"):
        return True
    if b"%PDF-" not in head[:1024]:
        return False
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - HEAD))
        return b"%%EOF" in file.read()


def looks_like_utf16(head: bytes) -> str:
    """utf-16-le or utf-16-be for text of any script without a mark that has zero bytes, else nothing."""
    return likely_utf16(head) if 0 in head else ""


def likely_utf16(head: bytes) -> str:
    """The byte order in which the high bytes are the same again and again, as those of a script are, and text comes out."""
    best, name = max((_commonest(head[1::2]), "utf-16-le"), (_commonest(head[0::2]), "utf-16-be"))
    return name if len(head) >= 4 and best >= 0.3 and reads_as(head, name) else ""


def _commonest(values: bytes) -> float:
    """The share of the value that is there most often."""
    return max(map(values.count, set(values)), default=0) / max(1, len(values))


def reads_as(head: bytes, name: str) -> bool:
    """True when nearly all of these bytes are letters, digits, marks and spaces in an encoding of two bytes."""
    try:
        text = head[: len(head) // 2 * 2].decode(name)
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # not just a pair cut in half
            return False
        text = head[: error.start].decode(name)
    kept = sum(unicodedata.category(letter)[0] in "LMNPSZ" or letter in "\n\r\t" for letter in text)
    return bool(text) and kept >= 0.97 * len(text)


def _archive(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise Refused(
            DAMAGED, "The archive inside this file can't be read. Save it again and upload it."
        ) from error
    if "word/document.xml" in names:
        return "docx"
    for member, what in OFFICE.items():
        if member in names:
            raise Refused(UNSUPPORTED, f"This is {what}. {ALLOWED}")
    raise Refused(UNSUPPORTED, f"This is an archive. Upload the files in it one by one. {ALLOWED}")


def _ole(path: Path) -> Refused:
    if OLE_ENCRYPTED in path.read_bytes():
        return Refused(ENCRYPTED, "Save a copy without one and upload that.")
    return Refused(
        UNSUPPORTED, f"This is an old Office file (DOC, XLS or PPT). Save it as DOCX or PDF. {ALLOWED}"
    )
