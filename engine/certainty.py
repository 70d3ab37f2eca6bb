"""How sure, how often and within which bounds: what a passage says with a reservation must not be claimed without it."""

from __future__ import annotations

import re

from engine.contraries import base
from engine.held import LEVELLED, OPPOSITE, Held, is_verb
from engine.statements import CONDITIONS, Statement
from engine.stems import word_set
from engine.word_kinds import Token

POSSIBLE = "the passage says it only as possible"
CONDITION = "the passage says it only under a condition"
# "May" and "might" before a verb; adverbs; verbs of those who expect or allege.
MODALS = word_set("may might could")
ADVERBS = word_set(
    "possibly perhaps maybe probably likely unlikely allegedly reportedly supposedly apparently presumably potentially"
)
EXPECTING = frozenset(
    base(word)
    for word in word_set(
        "expect hope plan intend propose aim believe suspect assume suppose allege claim rumour rumor speculate predict "
        "fear promise threaten consider"
    )
)
ALLOWING = word_set("can able allowed permitted")
CONDITIONAL = CONDITIONS | word_set("when whenever once where case only")
MULTIPLES = word_set("twice thrice half double triple times")
# How a figure is bounded, by the words before it: 1 from below, -1 from above, 0 not at all.
BOUNDS = (
    (re.compile(r"(?:no|not) (?:more|higher|larger|greater|longer) than$|at most$|up to$|maximum of$|at the most$"), -1),
    (re.compile(r"(?:no|not) (?:less|fewer|lower) than$|at least$|minimum of$|upwards of$"), 1),
    (re.compile(r"(?:more than|over|above|exceed(?:s|ed|ing)?|in excess of)$"), 2),
    (re.compile(r"(?:less than|fewer than|under|below)$"), -2),
    (re.compile(r"exactly$|precisely$"), 0),
)  # fmt: skip
LOOSE = None
RANKS = word_set("one among second third fourth fifth sixth seventh eighth ninth tenth")


def reserved(held: Held) -> str:
    """What is only expected, alleged or possible, claimed as if it were so; or a condition left out."""
    if _hedge(held.said, held) and not _hedged(held.claim):
        return POSSIBLE
    return _unconditional(held)


def _unconditional(held: Held) -> str:
    """A condition of the passage that the claim has no word of, or another condition in its place."""
    mine, said = held.claim, held.said
    inline = any(t.text in CONDITIONAL for t in mine.tokens)
    if said.condition:
        met = said.condition & (mine.condition or mine.bases)
        return "" if met or (inline and not mine.condition) else CONDITION
    at = next((i for i, t in enumerate(said.tokens) if t.text in CONDITIONS), None)
    if at is None or inline:
        return ""
    matched = {id(other) for _, other in held.pairs}
    under = [t for t in said.tokens[at:] if t.told and id(t) in matched]
    return CONDITION if at == 0 or not under else ""


def _hedge(statement: Statement, held: Held) -> bool:
    """True when a word of doubt stands before a word of the passage that the claim takes up; "may not" forbids."""
    matched = {id(other) for _, other in held.pairs}
    last = max((i for i, t in enumerate(statement.tokens) if id(t) in matched), default=-1)
    for index, token in enumerate(statement.tokens[: last + 1]):
        after = statement.tokens[index + 1].text if index + 1 < len(statement.tokens) else ""
        before = statement.tokens[index - 1].text if index else ""
        if before in ("than", "as"):
            continue
        if token.text in MODALS and after not in ("not", "never", "only") and before != "who":
            return True
        verb = after in ("that", "to") or is_verb(statement, token)
        if token.text in ADVERBS or (token.base in EXPECTING and verb):
            return True
    return False


def _hedged(statement: Statement) -> bool:
    return any(t.text in MODALS | ADVERBS | ALLOWING or t.base in EXPECTING for t in statement.tokens)


def multiples(held: Held) -> str:
    """ "As fast as" where the passage has "twice as fast as"."""
    ours, theirs = ({t.text for t in s.tokens} & MULTIPLES for s in (held.claim, held.said))
    compares = all(sum(t.text == "as" for t in s.tokens) > 1 for s in (held.claim, held.said))
    return LEVELLED if compares and bool(ours) != bool(theirs) else ""


def superlative(held: Held) -> str:
    """ "The coldest" where the passage has "one of the coldest", or "the second coldest"."""
    for ours, theirs in held.pairs:
        extreme = theirs.text.endswith("est") or theirs.text in ("most", "least", "best", "worst")
        if extreme and _ranks_before(held.said, theirs) - _ranks_before(held.claim, ours):
            return LEVELLED
    return ""


def _ranks_before(statement: Statement, token: Token) -> set[str]:
    """The ranks among the three words before a word."""
    at = statement.tokens.index(token)
    return {t.text for t in statement.tokens[max(0, at - 3) : at]} & RANKS


def bounds(held: Held) -> str:
    """ "Fewer than 3,000" for "over 3,000"; "exactly 40" for "at least 40"; "more than 450" for "450"."""
    for ours, theirs in held.pairs:
        if ours.value is None:
            continue
        mine, said = _bound(held.claim, ours), _bound(held.said, theirs)
        if mine is None:
            continue
        if said and mine * said < 0:
            return OPPOSITE
        if (mine == 0 and said) or (abs(mine) == 2 and not said):
            return LEVELLED
    return ""


def _bound(statement: Statement, token: Token) -> int | None:
    at = statement.tokens.index(token)
    before = " ".join(
        t.text for t in statement.tokens[max(0, at - 4) : at] if t.text not in ("about", "a", "the", "of")
    )
    return next((value for pattern, value in BOUNDS if pattern.search(before)), LOOSE)


def degree(held: Held) -> str:
    """ "By 6" for "to 6": how much something changed, and what it became."""
    for ours, theirs in held.pairs:
        if ours.value is not None:
            mine, said = _way(held.claim, ours), _way(held.said, theirs)
            if (mine and said and mine != said) or (said == "from" and not mine):
                return OPPOSITE
    return ""


def _way(statement: Statement, token: Token) -> str:
    at = statement.tokens.index(token)
    before = [
        t.text
        for t in statement.tokens[max(0, at - 3) : at]
        if t.text not in ("about", "almost", "nearly", "some")
    ]
    if before[-2:] in (["up", "from"], ["down", "from"]):
        return "from"
    return before[-1] if before and before[-1] in ("by", "to") else ""
