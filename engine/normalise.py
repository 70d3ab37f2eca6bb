"""Text as the grader matches it: NFKC, nothing invisible, look-alike letters Latin, offsets kept."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# Cyrillic and Greek letters that look like a Latin one.
LOOKALIKES = dict(
    zip(
        "аеосрхуіјѕһӏԁԛԝАВЕКМНОРСТХУІЈЅαορυνκιτΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
        "aeocpxyijshldqwABEKMHOPCTXYIJSaopuvkitABEZHIKMNOPTYX",
        strict=True,
    )
)
PUNCTUATION = {
    "’": "'",
    "‘": "'",
    "`": "'",
    "“": '"',
    "”": '"',
    "−": "-",
    "‐": "-",
    "‑": "-",
    "×": "x",
    "–": "—",
    "·": "*",
    "⋅": "*",
}
# A formula between dollars: one with a command, a brace or a power in it, or nothing but a number ("$2 to $3" is prose).
FORMULA = re.compile(r"\$(?=[^$\n]*[\\^_{][^$\n]*\$|[\d.,\s]+\$(?!\d))([^$\n]{1,120})\$")
# What LaTeX writes around figures and units; the group is kept.
LATEX = re.compile(
    r"\\(?:mathrm|mathit|mathbf|text|textrm|textbf|operatorname|mathsf)\s*\{([^{}]*)\}|(?<=\^)\{([-+]?\w+)\}|\{([,.])\}"
    r"|\\[,;:! ]|\\[()\[\]]|(?<=[\^]\d)\^(?=\d)"
)
SYMBOLS = {"\\times": "x", "\\cdot": "*", "\\approx": "≈", "\\sim": "~", "\\%": "%", "\\$": "$"}
SYMBOL = re.compile("|".join(re.escape(name) for name in SYMBOLS))
LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Normalised:
    """Matching text and, for each of its characters, the offset of the original character it came from."""

    text: str
    offsets: tuple[int, ...]
    original: str

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """The [start, end) span of the original text behind a span of the matching text."""
        if start >= end:
            return (0, 0)
        return self.offsets[start], self.offsets[end - 1] + 1


@lru_cache(maxsize=1024)
def normalise(text: str) -> Normalised:
    """Normalise for matching; the length may change, so every character keeps its original offset."""
    chars: list[str] = []
    offsets: list[int] = []
    for i, original in enumerate(text):
        for char in _visible(original):
            chars.append(char)
            offsets.append(i)
    plain, kept = "".join(chars), offsets
    for pattern in (FORMULA, LATEX, SYMBOL) if any(mark in plain for mark in "$\\{^") else ():
        plain, kept = _unwrapped(pattern, plain, kept)
    return Normalised(_latin_words(plain), tuple(kept), text)


def _unwrapped(pattern: re.Pattern[str], text: str, offsets: list[int]) -> tuple[str, list[int]]:
    """Each match replaced by its group, or by the sign it stands for; a space where a command stood alone."""
    out: list[str] = []
    kept: list[int] = []
    at = 0
    for match in pattern.finditer(text):
        group = next((i for i, found in enumerate(match.groups(), 1) if found is not None), 0)
        start, end = match.span(group) if group else (match.start(), match.start())
        sign = SYMBOLS.get(match.group(), " " if match.group().startswith("\\") and not group else "")
        out += [text[at : match.start()], text[start:end], sign]
        kept += [*offsets[at : match.start()], *offsets[start:end], *[offsets[match.start()]] * len(sign)]
        at = match.end()
    return "".join([*out, text[at:]]), [*kept, *offsets[at:]]


@lru_cache(maxsize=8192)
def _visible(char: str) -> str:
    if char in "\n\r\t":
        return char
    category = unicodedata.category(char)
    if category in ("Cf", "Mn", "Me"):
        # Zero-width, direction and tag characters; combining marks only decorate a letter that is kept.
        return ""
    if category in ("Cc", "Cs", "Co", "Cn"):
        return " "
    folded = "".join(c for c in unicodedata.normalize("NFKC", char) if unicodedata.category(c) != "Mn")
    if folded.isdigit() and unicodedata.decomposition(char).startswith("<super>"):
        folded = f"^{folded}"  # "10¹⁰" isn't 1010
    return "".join(PUNCTUATION.get(c, c) for c in folded)


def _latin_words(text: str) -> str:
    """Replace look-alikes in words that are partly Latin, or wholly look-alikes inside a Latin text."""
    latin = sum(1 for c in text if c.isascii() and c.isalpha())
    foreign = sum(1 for c in text if c.isalpha() and not c.isascii())

    def mapped(match: re.Match[str]) -> str:
        word = match.group()
        if word.isascii():
            return word
        has_latin = any(c.isascii() for c in word)
        all_alike = all(c.isascii() or c in LOOKALIKES for c in word)
        if has_latin or (all_alike and latin > foreign):
            return "".join(LOOKALIKES.get(c, c) for c in word)
        return word

    return LETTERS.sub(mapped, text)
