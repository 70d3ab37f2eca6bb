"""Does a quote support a claim? The quote must stand in the passage; numbers, names, negation and direction agree.

How numbers and the reach of negations are read is the grader's (`quantities`, `polarity`); `agreement` holds predicate
against predicate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.agreement import disagreement
from engine.answers import Citation, Claim
from engine.clauses import content_word
from engine.normalise import Normalised, normalise
from engine.quantities import Quantity, quantities
from engine.sentences import around, sentence_spans
from engine.stems import stem
from engine.translated import both_ends, translated
from engine.types import Passage
from engine.word_kinds import SPELT
from engine.words import words

NAME = re.compile(r"[^\W\d_][\w'’-]*")
ORDINAL = re.compile(r"(\d{1,9})(?:st|nd|rd|th)\b")
MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
SAME, ROUGHLY = 1e-6, 0.05  # how far a number may be off; the second where the claim says "about"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a quote supports a claim, what is wrong if not, and the share of the claim's words it has."""

    supported: bool
    why: str
    share: float


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Where the quote stands in the text: exactly, or with other spaces, quotation marks or invisible characters."""
    quote = quote.strip()
    if not quote:
        return None
    at = text.find(quote)
    if at >= 0:
        return at, at + len(quote)
    folded, wanted = normalise(text), _squeezed(normalise(quote).text)
    if not wanted:
        return None
    pattern = r"\s+".join(re.escape(part) for part in wanted.split(" "))
    match = re.search(pattern, folded.text, re.IGNORECASE)
    return folded.original_span(*match.span()) if match else None


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def verify(claim: str, citation: Citation, passage: str, enough: float) -> Verdict:
    """Judges a claim by the sentences round its citation. `enough` is the share of its words they must have."""
    if passage[citation.start : citation.end] != citation.text or not citation.text.strip():
        return Verdict(False, "the quote is not in the passage", 0.0)
    spans = sentence_spans(passage)
    start, end = around(passage, citation.start, citation.end)
    before = next((s for s, e in reversed(spans) if e <= start), start)
    near, wide = normalise(passage[start:end]), normalise(passage[before:end])
    said = normalise(translated(normalise(claim).text, wide.text))
    share = _share(said, wide)
    if said.text.rstrip().endswith("?"):
        return Verdict(False, "a question states nothing", share)
    if missing := missing_number(said.text, wide.text):
        return Verdict(False, f"the passage doesn't give {missing}", share)
    if name := missing_name(said, normalise(passage)):
        return Verdict(False, f"the passage doesn't name {name}", share)
    if said.text.strip() in (near.text[s:e] for s, e in sentence_spans(near.text)):
        return Verdict(True, "", share)
    if why := disagreement(said.text, near.text, normalise(passage[:start]).text):
        return Verdict(False, why, share)
    if share < enough:
        return Verdict(False, "the passage doesn't say so", share)
    return Verdict(True, "", share)


def _share(said: Normalised, evidence: Normalised) -> float:
    """The share of the claim's words that the evidence has."""
    have = {stem(w) for w in words(evidence.text)}
    wanted = [stem(w) for w in words(said.text) if content_word(w)]
    return sum(w in have for w in wanted) / len(wanted) if wanted else 0.0


def missing_number(claim: str, evidence: str) -> str:
    """The first number of the claim that the evidence doesn't have, '' when all are there."""
    there = quantities(evidence)
    digits = {found.replace(",", "") for found in re.findall(r"\d+(?:,\d{3})*", evidence)}
    for wanted in quantities(claim):
        written = claim[wanted.start : wanted.end].strip()
        if place := ORDINAL.match(claim, wanted.start):
            if not _ordered(place, evidence):
                return place.group()
            continue
        if re.fullmatch(r"\d+(?:,\d{3})*", written) and written.replace(",", "") in digits:
            continue
        if not any(_same(wanted, found) for found in there) and not both_ends(wanted, claim, evidence):
            return written
    return ""


def _ordered(place: re.Match[str], evidence: str) -> bool:
    """True where the evidence has the same ordinal, or as the day of a month the same day."""
    number, claim = int(place[1]), place.string
    dated = re.search(rf"\b(?:{MONTH})[a-z]*\.? $", claim[: place.start()]) or re.match(
        rf" (?:of )?(?:{MONTH})", claim[place.end() :]
    )
    if dated:
        day = rf"0?{number}(?:st|nd|rd|th)?"
        wanted = rf"\b{day}\.? (?:of )?(?:{MONTH})|\b(?:{MONTH})[a-z]*\.? {day}\b"
    else:
        wanted = rf"\b{number}(?:st|nd|rd|th)\b"
        wanted += rf"|\b{SPELT[number - 1]}\b" if 0 < number <= len(SPELT) else ""
    return re.search(wanted, evidence, re.IGNORECASE) is not None


def _same(wanted: Quantity, found: Quantity) -> bool:
    if wanted.kind != found.kind and wanted.kind and found.kind:
        return False
    width = (ROUGHLY if wanted.about else SAME) * max(abs(wanted.low), abs(wanted.high))
    return found.low - width <= wanted.low and wanted.high <= found.high + width


def missing_name(said: Normalised, evidence: Normalised) -> str:
    """The first name of the claim that the evidence lacks: a capitalised word that begins no sentence."""
    have = {stem(w) for w in words(evidence.text)}
    opening = {s for s, _ in sentence_spans(said.text)}
    for match in NAME.finditer(said.text):
        word = match.group()
        if not word[0].isupper() or (match.start() in opening and not _known_as_name(word, evidence.text)):
            continue
        parts = words(word)
        if any(content_word(p) and stem(p) not in have for p in parts):
            return word
    return ""


def _known_as_name(word: str, text: str) -> bool:
    """A word that begins a sentence counts as a name when it has capitals inside, as acronyms do."""
    return any(c.isupper() for c in word[1:]) and len(text) > 0


def split_claims(answer: str) -> list[str]:
    """The sentences of an answer, as they stand in it."""
    return [answer[start:end] for start, end in sentence_spans(answer)]


def cite(claim: str, passages: Sequence[Passage], scores: Sequence[float] | None = None) -> Citation | None:
    """The sentence of a passage that has most of the claim's words; ties go to the passage that scores higher."""
    wanted = {stem(w) for w in words(normalise(claim).text) if content_word(w)}
    best: tuple[float, float, Citation] | None = None
    for rank, passage in enumerate(passages):
        bonus = scores[rank] if scores else -float(rank)
        for start, end in sentence_spans(passage.text):
            have = {stem(w) for w in words(normalise(passage.text[start:end]).text)}
            share = len(wanted & have) / len(wanted) if wanted else 0.0
            if share > 0 and (best is None or (share, bonus) > best[:2]):
                best = (share, bonus, Citation(passage.id, start, end, passage.text[start:end]))
    return best[2] if best else None


def judged(claim: str, citation: Citation | None, texts: dict[str, str], enough: float) -> Claim:
    """The claim with its verdict; without a citation, or with one of an unknown passage, it has no support."""
    if citation is None or citation.passage not in texts:
        return Claim(claim, False, None, "no passage says anything like it")
    verdict = verify(claim, citation, texts[citation.passage], enough)
    return Claim(claim, verdict.supported, citation, verdict.why)
