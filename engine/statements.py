"""A sentence as what it states: words told apart as names, numbers and others, cut where a new predicate begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from engine.clauses import content_word
from engine.contraries import FORMS, base
from engine.lexicon import AUXILIARIES, VERBS
from engine.quantities import SCALES, WORD_NUMBERS
from engine.sentences import sentence_spans
from engine.stems import word_set

Kind = Literal["name", "number", "word", "small", "mark"]
TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?|[,;:()—]")
HARD = frozenset(";:()—")
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


@dataclass(frozen=True)
class Statement:
    """Tokens of one predicate; the first `given` of them stand in another part of the sentence and belong to it too."""

    tokens: tuple[Token, ...]
    given: int = 0

    @cached_property
    def told(self) -> tuple[Token, ...]:
        """The words that carry meaning."""
        return tuple(token for token in self.tokens if token.told)

    @cached_property
    def bases(self) -> frozenset[str]:
        """What they are compared by."""
        return frozenset(token.base for token in self.told)

    @cached_property
    def text(self) -> str:
        """Its words in a row, as a sentence."""
        return " ".join(token.text for token in self.tokens if token.kind != "mark" or token.text == ",")


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
        after = found[index + 1].group() if index + 1 < len(found) else ""
        kind, value = _kind(raw, index, after, names), _value(text, after.lower())
        kind = "number" if value is not None else kind
        out.append(
            Token(
                text, base(text) if value is None else f"{value:g}", match.start(), match.end(), kind, value
            )
        )
    return out


def _value(text: str, after: str) -> float | None:
    scale = SCALES.get(after, 1.0)
    if text in WORD_NUMBERS and text != "one":
        return WORD_NUMBERS[text] * scale
    if not text[0].isdigit():
        return None
    grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text)
    plain = text.replace(",", "" if grouped else ".")
    return float(plain) * scale if plain.count(".") < 2 else None


def _kind(raw: str, index: int, after: str, names: frozenset[str]) -> Kind:
    text = raw.lower()
    if not raw[0].isalnum():
        return "mark"
    if raw[0].isdigit():
        return "number"
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
        or token.text in FORMS
        or (token.text.endswith("ed") and len(token.text) > 4)
    ):
        return before not in ("a", "an", "the")
    known = token.base in VERBS and (token.text not in (token.base, f"{token.base}e") or before in PRONOUNS)
    return known or before in MODAL or before in BE or _third_person(found, index)


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


def statements(sentence: str, names: frozenset[str]) -> list[Statement]:
    """What a sentence states, predicate by predicate, each with the subject that it shares."""
    found = tokens(sentence, names)
    cuts = [0]
    for index in range(1, len(found)):
        token = found[index]
        if token.text not in HARD and token.text != "," and token.text not in JOINERS:
            continue
        left, right = found[cuts[-1] : index], _until_cut(found, index + 1)
        if _cut(token.text, left, right):
            cuts.append(index)
    parts = [found[a:b] for a, b in zip(cuts, [*cuts[1:], len(found)], strict=True)]
    parts = [part for part in parts if any(token.told for token in part)]
    return [_with_subject(parts[0], part) for part in parts] if parts else []


def _cut(mark: str, left: Sequence[Token], right: Sequence[Token]) -> bool:
    if mark == ";":
        return any(t.told for t in left) and any(t.told for t in right)
    if _states(left) and (_states(right) or mark in HARD):
        return True
    return _goes_on(left) and _goes_on(right)


def _until_cut(found: Sequence[Token], start: int) -> list[Token]:
    out: list[Token] = []
    for token in found[start:]:
        if token.kind == "mark" or token.text in JOINERS:
            if out:
                break
            continue
        out.append(token)
    return out


def _states(part: Sequence[Token]) -> bool:
    return any(finite(part, i) for i in range(len(part))) and any(token.told for token in part)


def _goes_on(part: Sequence[Token]) -> bool:
    """A number or a comparison of its own: "… 1,200 people in Oslo and | 300 in Bergen"."""
    figure = any(t.kind == "number" for t in part) and any(t.text in PREPOSITIONS for t in part)
    return figure or any(t.text == "than" for t in part)


def _with_subject(first: Sequence[Token], part: Sequence[Token]) -> Statement:
    """The part with the words that it takes from the first one."""
    verbs = [token for i, token in enumerate(part) if finite(part, i)]
    body = list(part)
    while body and (body[0].kind == "mark" or (body[0].text in JOINERS and body[0].text not in PRONOUNS)):
        body = body[1:]
    if part is first or not body:
        return Statement(tuple(body))
    verb = next((i for i, token in enumerate(body) if token in verbs), None)
    if verb is None:  # a second figure for the same predicate
        shared = [t for t in first if t.kind in ("word", "small")]
        return Statement((*shared, *body), len(shared))
    first_verb = next((i for i in range(len(first)) if finite(first, i)), len(first))
    if any(token.told or token.text in PRONOUNS for token in body[:verb]):
        missing = body[verb].text in AUXILIARIES and not any(token.told for token in body[verb:])
        return Statement((*body, *first[first_verb + 1 :]) if missing else tuple(body))
    shared = list(first[:first_verb])
    needs = body[verb].text not in AUXILIARIES and first_verb < len(first) and first[first_verb].text in BE
    shared += [first[first_verb]] if needs and any(t.text == "by" for t in body) else []
    return Statement((*shared, *body), len(shared))


@dataclass(frozen=True, slots=True)
class Sides:
    """Bases of the words round a verb: what acts, what is acted on, all that stands before it and after it."""

    acting: frozenset[str]
    acted_on: frozenset[str]
    before: frozenset[str]
    after: frozenset[str]
    passive: bool


def sides(statement: Statement, at: int) -> Sides:
    """The sides of the verb at `at`; phrases with a preposition neither act nor are acted on."""
    words = statement.tokens
    before, after = _main(words[:at], leading=True), words[at + 1 :]
    passive = any(t.text in BE for t in words[max(0, at - 3) : at])
    agent = next((i for i, t in enumerate(after) if t.text == "by"), None) if passive else None
    first, last = _bases(before), _bases(after)
    if agent is not None:
        return Sides(_bases(_main(after[agent + 1 :])), first, first, last, True)
    if passive:
        return Sides(frozenset(), first, first, last, True)
    return Sides(first, _bases(_main(after)), first, last, False)


def _bases(found: Sequence[Token]) -> frozenset[str]:
    return frozenset(t.base for t in found if t.kind in ("name", "word"))


def _main(found: Sequence[Token], *, leading: bool = False) -> Sequence[Token]:
    """Tokens up to the first preposition; before a verb, those after the comma that ends an opening phrase."""
    if leading:
        comma = next((i for i, t in enumerate(found) if t.text == ","), None)
        opens = bool(found) and found[0].text in PREPOSITIONS
        return found if not opens else found[comma + 1 :] if comma is not None else ()
    ends = PREPOSITIONS | SIDES_END
    return found[: next((i for i, t in enumerate(found) if t.text in ends or t.kind == "mark"), len(found))]
