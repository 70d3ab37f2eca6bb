"""What a file is, by its content. The name only tells apart kinds of plain text, which look alike."""

from __future__ import annotations

import re
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
    if b"%PDF-" in head[:1024]:
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


def looks_like_utf16(head: bytes) -> str:
    """utf-16-le or utf-16-be where every other byte is mostly zero (text without a mark), else nothing."""
    if len(head) < 4:
        return ""
    even, odd = head[0::2], head[1::2]
    if odd.count(0) > 0.4 * len(odd) and even.count(0) < 0.02 * len(even):
        return "utf-16-le"
    if even.count(0) > 0.4 * len(even) and odd.count(0) < 0.02 * len(odd):
        return "utf-16-be"
    return ""


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
        return Refused(ENCRYPTED, "The document has a password. Save a copy without one and upload that.")
    return Refused(
        UNSUPPORTED, f"This is an old Office file (DOC, XLS or PPT). Save it as DOCX or PDF. {ALLOWED}"
    )
