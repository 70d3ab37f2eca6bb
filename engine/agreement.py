"""Does a sentence of a passage bear out a claim? Each predicate of the claim is held against one of the sentence.

What two predicates of a sentence say must not be mixed ("opened in 1932 and closed in 1987" isn't "closed in 1932"), who
acts and who is acted on must not change places, and no word may stand where the sentence has a contrary one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.belonging import added, exchanged_places, figures, mixed, modifier, names_placed, roles, subject
from engine.held import Held
from engine.sentences import sentence_spans
from engine.statements import proper, statements
from engine.wording import levels, opposite, order, prepositions

CHECKS: Sequence[Callable[[Held], str]] = (
    opposite, order, prepositions, levels, figures, mixed, exchanged_places, modifier, names_placed, roles, subject, added,
)  # fmt: skip


def disagreement(claim: str, near: str, before: str) -> str:
    """Why the sentences `near`, with what stands `before` them, don't bear out a claim; '' when they do."""
    names = proper(before) | proper(near) | proper(claim)
    theirs = [part for sentence in _sentences(near) for part in statements(sentence, names)]
    if not theirs:
        return ""
    others = frozenset(b for part in theirs for b in part.bases)
    earlier = frozenset(b for s in _sentences(before) for part in statements(s, names) for b in part.bases)
    for part in (part for sentence in _sentences(claim) for part in statements(sentence, names)):
        held = [Held(part, said, others, earlier) for said in theirs]
        best = max(one.score for one in held)
        whys = [_objection(one) for one in held if one.score == best]
        if all(whys):
            return whys[0]
    return ""


def _sentences(text: str) -> Iterable[str]:
    return (text[start:end] for start, end in sentence_spans(text))


def _objection(held: Held) -> str:
    return next((why for check in CHECKS if (why := check(held))), "")
