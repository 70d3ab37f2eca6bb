"""Does a sentence of a passage bear out a claim? Each predicate of the claim is held against one of the sentence.

What two predicates of a sentence say must not be mixed ("opened in 1932 and closed in 1987" isn't "closed in 1932"), who
acts and who is acted on must not change places, and no word may stand where the sentence has a contrary one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.belonging import (
    added,
    counted,
    exchanged_places,
    figures,
    governed,
    mixed,
    modifier,
    names_placed,
    roles,
    subject,
)
from engine.certainty import bounds, degree, multiples, reserved, superlative
from engine.held import OPPOSITE, Held
from engine.sentences import sentence_spans
from engine.statements import Statement, statements
from engine.word_kinds import proper, tokens
from engine.wording import levels, negated, opposite, order, prepositions, uncompared

CHECKS: Sequence[Callable[[Held], str]] = (
    opposite, order, uncompared, multiples, prepositions, degree, bounds, levels, superlative, figures, counted, mixed, exchanged_places, modifier,
    governed, names_placed, roles, subject, added, reserved,
)  # fmt: skip


def disagreement(claim: str, near: str, before: str) -> str:
    """Why the sentences `near`, with what stands `before` them, don't bear out a claim; '' when they do."""
    names = proper(before) | proper(near) | proper(claim)
    theirs = [part for sentence in _sentences(near) for part in statements(sentence, names)]
    if not theirs:
        return ""
    others = frozenset(b for part in theirs for b in part.bases)
    earlier = frozenset(b for s in _sentences(before) for part in statements(s, names) for b in part.bases)
    for sentence in _sentences(claim):
        if why := _out_of_order(sentence, near, names, others, earlier):
            return why
        for part in statements(sentence, names):
            held = [Held(part, said, others, earlier) for said in theirs]
            best = max(one.score for one in held)
            whys = [_objection(one) or _denied_elsewhere(one, theirs) for one in held if one.score == best]
            if all(whys):
                return whys[0]
    return ""


def _out_of_order(
    claim: str, near: str, names: frozenset[str], others: frozenset[str], earlier: frozenset[str]
) -> str:
    """What came before what, where the predicates that it stands between are parted by a comma."""
    ours = tokens(claim, names)
    for sentence in _sentences(near):
        theirs = tokens(sentence, names)
        if all(sum(t.text in ("before", "after") for t in found) == 1 for found in (ours, theirs)):
            return order(Held(Statement(tuple(ours)), Statement(tuple(theirs)), others, earlier))
    return ""


def _denied_elsewhere(held: Held, theirs: Sequence[Statement]) -> str:
    """A name of the claim that the passage mentions only to deny this of it: "…, not to Okoye"."""
    for token in held.unmatched:
        if token.kind != "name" or token.base in negated(held.claim):
            continue
        told = [token.base in negated(said) for said in theirs if token.base in said.bases]
        if told and all(told):
            return OPPOSITE
    return ""


def _sentences(text: str) -> Iterable[str]:
    return (text[start:end] for start, end in sentence_spans(text))


def _objection(held: Held) -> str:
    return next((why for check in CHECKS if (why := check(held))), "")
