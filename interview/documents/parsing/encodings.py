"""Bytes to text: a byte order mark, else strict UTF-8, else detection; what was used is recorded."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

from interview.documents.parsing.outcome import UNSUPPORTED, Refused
from interview.documents.parsing.sniff import ALLOWED, likely_utf16, looks_like_utf16

MARKS = (  # UTF-32 before UTF-16: its mark begins like the other's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CANDIDATES = [
    "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp1251", "koi8_r", "cp1253", "cp1250", "cp1252"
]  # fmt: skip
DECLARED = re.compile(rb"(?:<meta[^>]+charset=|<\?xml[^>]+encoding=)[\"']?([\w-]{2,20})", re.I)
EAST_ASIAN = {"cp932", "euc_jp", "gb18030", "big5", "euc_kr"}
# Letters of Central Europe, read as Windows Western European, put a sign in the middle of a word.
SIGN_IN_WORD = re.compile(r"[^\W\d_][¹²³¿¡¢£¤¥¦§¨©ª¬®¯°±´µ¶·¸¼½¾\u0081\u008d\u008f\u0090\u009d]+[^\W\d_]")
SAMPLE = 200_000
BAD_SHARE = 0.02  # of control characters, above which something is no text


def decoded(raw: bytes) -> tuple[str, str]:
    """The text and the encoding it was in. Raises Refused for what is no text in any."""
    for mark, name in MARKS:
        if raw.startswith(mark):
            return _clean(raw.decode(name, errors="replace")), name
    if name := looks_like_utf16(raw[:4096]):
        return _clean(raw.decode(name, errors="replace")), name
    try:
        return _clean(raw.decode("utf-8")), "utf-8"
    except UnicodeDecodeError:
        name = _detected(raw)
        return _clean(raw.decode(name, errors="replace")), name


def _detected(raw: bytes) -> str:
    """What a web page declares, else the likeliest usual encoding; Windows Western European where none is likelier."""
    sample = raw[:SAMPLE]
    if (declared := DECLARED.search(raw[:2048])) and (name := _known(declared[1].decode())):
        return name
    best = from_bytes(sample, cp_isolation=CANDIDATES, preemptive_behaviour=False).best()
    if best is None:
        return likely_utf16(sample) or "cp1252"
    # A few bytes beyond ASCII make a few letters of any script: there must be enough of them.
    least = 0.1 if best.encoding in EAST_ASIAN else 0.25
    if best.encoding != "cp1252" and _letters(sample, best.encoding) > least:
        return best.encoding
    western = sample.decode("cp1252", errors="replace")
    if _controls(western) > BAD_SHARE:
        return likely_utf16(sample) or "cp1252"
    return "cp1250" if len(SIGN_IN_WORD.findall(western)) >= 2 else "cp1252"


def _controls(text: str) -> float:
    """The share of control characters."""
    bad = sum(letter < " " and letter not in "\t\n\r\f\v\x1b" for letter in text[:SAMPLE])
    return bad / max(1, len(text[:SAMPLE]))


def _known(name: str) -> str:
    try:
        found = codecs.lookup(name)
        if found.name in ("iso8859-1", "ascii"):  # as browsers read it
            return "cp1252"
        return found.name if found._is_text_encoding and not found.name.startswith("utf") else ""
    except LookupError:
        return ""


def _letters(raw: bytes, encoding: str) -> float:
    """Share of letters beyond ASCII: high in Cyrillic or Greek, low in Western European text."""
    text = raw.decode(encoding, errors="ignore")
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter > "\x7f" for letter in letters) / max(1, len(letters))


def _clean(text: str) -> str:
    """Line ends as \\n and NUL visible. Raises Refused when it is control characters all over."""
    if _controls(text) > BAD_SHARE:
        raise Refused(UNSUPPORTED, f"This is not text. {ALLOWED}")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")
