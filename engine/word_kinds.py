"""Words of a sentence told apart as names, numbers and others, and which of them looks like the verb of a predicate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from engine.clauses import content_word
from engine.contraries import FORMS, base, past_of
from engine.lexicon import AUXILIARIES, VERBS
from engine.quantities import SCALES, WORD_NUMBERS
from engine.sentences import sentence_spans
from engine.stems import word_set

Kind = Literal["name", "number", "word", "small", "mark"]
TENS = "|".join(word for word, value in WORD_NUMBERS.items() if value >= 20)
ONES = "|".join(word for word, value in WORD_NUMBERS.items() if 0 < value < 10)
TOKEN = re.compile(
    rf"(?i:\b(?:{TENS})-(?:{ONES})\b)|\d+(?:st|nd|rd|th)\b|\d+(?:[.,]\d+)*|[ap]\.m\b|[^\W\d_]+(?:'[^\W\d_]+)?|[,;:()—]"
)
ORDINAL = re.compile(r"(\d{1,9})(?:st|nd|rd|th)")
SPELT = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]
MONTHS = word_set("jan feb mar apr may jun jul aug sep oct nov dec")
JOINERS = word_set("and but while whereas although though because which who so yet")
PRONOUNS = word_set("he she it they him her them this these those that who which")
BE = word_set("is are was were be been being got gets")
PREPOSITIONS = word_set(
    "in at on from to with for during near under over between among through into onto since until against about after "
    "before without within across along around behind below above beyond"
)
SIDES_END = word_set("than before after")
GOVERNED = PREPOSITIONS - {"of"} | {"a", "an", "the", "his", "her", "its", "their", "no", "him", "it", "them"}
MODAL = AUXILIARIES - BE


@dataclass(frozen=True, slots=True)
class Token:
    """One word or mark: as compared (`base`), as written in lower case, its span, and what it is."""

    text: str
    base: str
    start: int
    end: int
    kind: Kind
    value: float | None = None  # of a number, in digits or in words

    @property
    def told(self) -> bool:
        """True for words that carry meaning."""
        return self.kind in ("name", "number", "word")


def proper(text: str) -> frozenset[str]:
    """Words that stand capitalised where no sentence begins, in lower case."""
    opening = {start for start, _ in sentence_spans(text)}
    return frozenset(
        m.group().lower() for m in TOKEN.finditer(text) if m.group()[0].isupper() and m.start() not in opening
    )


def tokens(sentence: str, names: frozenset[str]) -> list[Token]:
    """The tokens of one sentence; `names` are words known to be names where one begins it."""
    found = list(TOKEN.finditer(sentence))
    out = []
    for index, match in enumerate(found):
        raw, text = match.group(), match.group().lower()
        before = found[index - 1].group() if index else ""
        after = found[index + 1].group() if index + 1 < len(found) else ""
        kind = _kind(raw, index, after, names)
        text = _place_in_order(text, before, after)
        value = _value(text, after.lower())
        kind = "name" if _letter(before, raw, after) else kind
        kind = "number" if value is not None else kind
        out.append(
            Token(
                text, base(text) if value is None else f"{value:g}", match.start(), match.end(), kind, value
            )
        )
    return out


def _place_in_order(text: str, before: str, after: str) -> str:
    """An ordinal in figures as a word; the day of a month as its number."""
    found = ORDINAL.fullmatch(text)
    if found is None:
        return text
    if before[:3].lower() in MONTHS or after[:3].lower() in MONTHS:
        return found[1]
    return SPELT[int(found[1]) - 1] if 0 < int(found[1]) <= len(SPELT) else text


def _letter(before: str, raw: str, after: str) -> bool:
    """The A of "model A", which is no article: within a sentence an article is written small."""
    return raw == "A" and before[-1:].islower() and not after[:1].isupper()


def _value(text: str, after: str) -> float | None:
    scale = SCALES.get(after, 1.0)
    ten, _, one = text.partition("-")
    if one in WORD_NUMBERS and ten in WORD_NUMBERS:
        return (WORD_NUMBERS[ten] + WORD_NUMBERS[one]) * scale
    if text in WORD_NUMBERS and text != "one":
        return WORD_NUMBERS[text] * scale
    if not text[0].isdigit() or ORDINAL.fullmatch(text):
        return None
    grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text)
    plain = text.replace(",", "" if grouped else ".")
    return float(plain) * scale if plain.count(".") < 2 else None


def _kind(raw: str, index: int, after: str, names: frozenset[str]) -> Kind:
    text = raw.lower()
    if not raw[0].isalnum():
        return "mark"
    if raw[0].isdigit():
        return "word" if ORDINAL.fullmatch(text) else "number"
    if raw == "May" and index:  # the month
        return "name"
    if not content_word(text) or text in PREPOSITIONS or text in PRONOUNS:
        return "small"
    pair = after[:1].isupper() and content_word(after.lower())
    if raw[0].isupper() and (index or pair or text in names or any(c.isupper() for c in raw[1:])):
        return "name"
    return "word"


def finite(found: Sequence[Token], index: int) -> bool:
    """True when a token looks like the verb of a predicate."""
    token = found[index]
    if token.kind not in ("word", "small") or (token.kind == "small" and token.text not in AUXILIARIES):
        return False
    before = found[index - 1].text if index else ""
    if (
        token.text in AUXILIARIES
        or past_of(token.text)
        or (token.text.endswith("ed") and len(token.text) > 4)
    ):
        return before not in ("a", "an", "the")
    known = token.base in VERBS and (token.text not in (token.base, f"{token.base}e") or before in PRONOUNS)
    return known or before in MODAL or before in BE or _third_person(found, index) or _plural(found, index)


BASES = VERBS | frozenset(base(verb) for verb in FORMS.values())


def _plural(found: Sequence[Token], index: int) -> bool:
    """A verb in its bare form between a plural and what it governs: "adults pay 8 euros"."""
    token = found[index]
    if (
        not 0 < index < len(found) - 1
        or token.kind != "word"
        or token.base not in BASES
        or token.text.endswith("s")
    ):
        return False
    before, after = found[index - 1], found[index + 1]
    plural = (
        before.kind == "word" and before.text.endswith("s") and not before.text.endswith(("ss", "us", "is"))
    )
    return plural and (after.kind == "number" or after.text in GOVERNED or after.told)


def _third_person(found: Sequence[Token], index: int) -> bool:
    """A word in -s between a noun and what it governs, or right after "and": "boils at", "and freezes"."""
    token = found[index]
    if not token.text.endswith("s") or token.text.endswith(("ss", "us", "is")) or len(token.text) < 4:
        return False
    before = found[index - 1] if index else None
    after = found[index + 1] if index + 1 < len(found) else None
    governs = after is not None and (
        after.text in GOVERNED or after.kind == "number" or after.text.endswith("ly")
    )
    follows = before is not None and (before.text in JOINERS or (before.told and before.kind != "number"))
    return follows and governs
