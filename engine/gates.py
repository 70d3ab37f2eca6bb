"""What no similarity can overrule: copies, shuffled words, denials, turned statements, exchanged roles, figures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.alignment import Known, align, coverage, flips
from engine.clauses import Clause, sentences
from engine.context_features import shared_bigrams
from engine.intake import bare_words
from engine.lexicon import HEDGES
from engine.normalise import normalise
from engine.quantities import Quantity, quantities
from engine.roles import exchanged
from engine.verdict import Label

MILD = ("might", "probably", "presumably", "could be", "no idea", "don't know", "dont know")
ECHOED = 0.8  # share of the answer's neighbouring words that stand in the question
SAME_WORDS = 0.8
SHUFFLED = 0.4
DENIED = 0.5
TURNED = 0.6
FULLY = 0.75
FEW = 5  # content words of a clause that may be turned round by accident
FEWEST = 2  # content words of a clause that can be turned round
OPPOSITE = "This says the opposite of the reference."
EXCHANGED = "The roles are exchanged."


class Spoken(Protocol):
    """A text with its words as one clause and its clauses."""

    @property
    def text(self) -> str: ...
    @property
    def whole(self) -> Clause: ...
    @property
    def parts(self) -> tuple[Clause, ...]: ...


@dataclass(frozen=True, slots=True)
class Gate:
    """A label that overrules the model, or the best one that it may give; `against` are clauses turned round."""

    label: Label | None
    ceiling: Label
    why: str
    against: frozenset[int] = frozenset()
    doubtful: bool = False  # a model that is all but certain may overrule it


OPEN = Gate(None, "correct", "")


def gates(question: str, ours: Spoken, theirs: Sequence[Spoken], nearest: int, known: Known) -> Gate:
    """What the gates say of an answer to a question with these alternative references."""
    if copies_question(ours.text, question):
        return Gate("incorrect", "incorrect", "This only repeats the question.")
    if any(shuffled(ours.whole, reference.whole) for reference in theirs):
        return Gate("incorrect", "incorrect", "These are the words of an answer in no order that states it.")
    stands = [against(ours, reference, known) for reference in theirs]
    turned, why, _ = stands[nearest]
    best = max((affirmed for t, _, affirmed in stands if not t), default=0.0)
    if turned and best < FULLY:
        return Gate(
            "contradictory", "contradictory", why, turned, _doubtful(ours, theirs[nearest], turned, why)
        )
    wrong = wrong_number(question, ours.text, theirs[nearest].text)
    if wrong:
        return Gate(None, "partial", wrong)
    if unsure(ours.whole) and not theirs[nearest].whole.hedged:
        return Gate(None, "partial", "This is hedged, so it counts in part.")
    return OPEN


def against(ours: Spoken, theirs: Spoken, known: Known) -> tuple[frozenset[int], str, float]:
    """Clauses of a reference that the answer turns round, why, and how far it affirms the reference at best."""
    turned, why, affirmed = set(), "", []
    fewest = 1 if any(scope.whole for scope in ours.whole.scopes) else FEWEST
    for i, clause in enumerate(theirs.parts or (theirs.whole,)):
        stands = _stands(ours, clause, known)
        for_it = max((covered for covered, reason in stands if not reason), default=0.0)
        covered, reason = max(((c, r) for c, r in stands if r), default=(0.0, ""))
        affirmed.append(for_it)
        if covered >= TURNED and covered >= for_it and len(clause.content) >= fewest:
            turned.add(i)
            why = reason
    return frozenset(turned), why, min(affirmed, default=0.0)


def _doubtful(ours: Spoken, theirs: Spoken, turned: frozenset[int], why: str) -> bool:
    """A clause of few words that is turned round without a word of denial may say the same in another way."""
    parts = theirs.parts or (theirs.whole,)
    denied = bool(ours.whole.scopes) or any(parts[i].scopes for i in turned)
    return not denied and why == OPPOSITE and max(len(parts[i].content) for i in turned) <= FEW


def _stands(ours: Spoken, clause: Clause, known: Known) -> list[tuple[float, str]]:
    """How the clauses of an answer stand to one of a reference; whole sentences when no clause speaks of it."""
    small = [_stand(piece, clause, known) for piece in ours.parts if not piece.question]
    if max((covered for covered, _ in small), default=0.0) >= TURNED:
        return small
    return [_stand(piece, clause, known) for piece in sentences(ours.text) if not piece.question] or small


def _stand(piece: Clause, clause: Clause, known: Known) -> tuple[float, str]:
    """How much of a reference's clause a piece speaks of, and why it says the contrary, if it does."""
    pairs = align(piece, clause, known)
    covered = coverage(clause, pairs)
    denied = any(scope.whole for scope in piece.scopes)
    if covered < (DENIED if denied else TURNED):
        return covered, ""
    if flips(piece, clause, pairs):
        return (max(covered, TURNED) if denied else covered), OPPOSITE
    return covered, EXCHANGED if exchanged(piece, clause, pairs) else ""


def copies_question(answer: str, question: str) -> bool:
    """True when an answer is made of the question's own runs of words."""
    ours, asked = bare_words(answer), bare_words(normalise(question).text)
    if not set(ours) - set(asked) and len(ours) >= 3:
        runs = list(itertools.pairwise(ours))
        known = set(itertools.pairwise(asked)) | {(asked[-1], asked[0])}
        return sum(run in known for run in runs) >= ECHOED * len(runs)
    return False


def shuffled(answer: Clause, reference: Clause) -> bool:
    """True when an answer has the reference's words, all but in the reference's order."""
    ours, theirs = [w.stem for w in answer.words], [w.stem for w in reference.words]
    if len(theirs) < 4 or not len(theirs) * 0.7 <= len(ours) <= len(theirs) * 1.3:
        return False
    shared = len(set(ours) & set(theirs)) / len(set(ours) | set(theirs))
    return shared >= SAME_WORDS and shared_bigrams(answer, reference) < SHUFFLED


def wrong_number(question: str, answer: str, reference: str) -> str:
    """Why the answer's figures don't fit those of the reference, or nothing."""
    given = quantities(normalise(question).text)
    wanted = [q for q in quantities(reference) if q.kind and not any(_agree(q, other) for other in given)]
    said = quantities(answer)
    for figure in wanted:
        if any(_agree(figure, q) for q in said):
            continue
        if any(_same_digits(figure, q, answer, reference) for q in said if q.kind):
            return "The figure is right but its unit isn't."
        if any(q.kind == figure.kind for q in said):
            return "The number is off."
    return ""


def unsure(clause: Clause) -> bool:
    """True when a hedge is more than a "might" or "probably", which careful right answers have too."""
    words = " ".join(word.text for word in clause.words)
    return any(f" {hedge} " in f" {words} " for hedge in HEDGES if hedge not in MILD)


def with_their_figures(answer: str, references: Sequence[str]) -> str:
    """The answer with quantities that equal one of a reference written as the reference writes them."""
    wanted = [(q, text[q.start : q.end]) for text in references for q in quantities(text) if q.kind]
    out, at = "", 0
    for found in quantities(answer):
        written = next((text for figure, text in wanted if _agree(figure, found)), None)
        if written is not None and found.start >= at:
            out += answer[at : found.start] + written
            at = found.end
    return out + answer[at:]


def _agree(wanted: Quantity, found: Quantity) -> bool:
    width = 0.05 if found.about or wanted.about else 0.02
    low, high = wanted.low * (1 - width), wanted.high * (1 + width)
    return wanted.kind == found.kind and found.low <= high and found.high >= low


def _same_digits(wanted: Quantity, found: Quantity, answer: str, reference: str) -> bool:
    def digits(text: str) -> str:
        return "".join(char for char in text if char.isdigit() or char == ".").strip(".")

    return digits(answer[found.start : found.end]) == digits(reference[wanted.start : wanted.end])
