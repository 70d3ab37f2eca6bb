"""A predicate of a claim beside one of a sentence: which words stand for each other, which are left over on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from engine.contraries import contrary, unmade
from engine.lexicon import synonyms
from engine.statements import Sides, Statement, sides
from engine.word_kinds import PREPOSITIONS, Token, finite

OPPOSITE = "the passage says the opposite"
SWAPPED = "the passage has the sides the other way about"
MIXED = "the passage says that of something else"
LEVELLED = "the passage says another share of it"
DEFINITE = frozenset(("the", "this", "that", "its", "their", "his", "her"))


@dataclass(frozen=True)
class Held:
    """A predicate of the claim held against one of the passage; `others` are the words round it, `before` those earlier."""

    claim: Statement
    said: Statement
    others: frozenset[str]
    before: frozenset[str]

    @cached_property
    def pairs(self) -> list[tuple[Token, Token]]:
        """Words of the claim with the word of the passage that each stands for."""
        left = list(self.said.told)
        found: list[tuple[Token, Token]] = []
        for same in (_equal, _alike):
            for token in self.claim.told:
                if any(token is one for one, _ in found):
                    continue
                match = next((other for other in left if same(token, other)), None)
                if match is not None:
                    found.append((token, match))
                    left.remove(match)
        return found

    @cached_property
    def unmatched(self) -> list[Token]:
        """Words of the claim without one."""
        return [t for t in self.claim.told if not any(t is one for one, _ in self.pairs)]

    @cached_property
    def rivals(self) -> list[Token]:
        """Words of the passage's predicate that the claim doesn't take up."""
        return [t for t in self.said.told if not any(t is other for _, other in self.pairs)]

    @property
    def score(self) -> float:
        """How much of the claim the predicate speaks of."""
        contraries = sum(any(clash(t, r) for r in self.rivals) for t in self.unmatched)
        return len(self.pairs) + 0.7 * contraries


def _equal(one: Token, other: Token) -> bool:
    if one.value is not None or other.value is not None:
        return one.value == other.value
    return one.base == other.base


def _alike(one: Token, other: Token) -> bool:
    if "name" in (one.kind, other.kind) or "number" in (one.kind, other.kind):
        return False
    return synonyms(one.base, other.base) and not contrary(one.base, other.base)


def clash(one: Token, other: Token) -> bool:
    return contrary(one.base, other.base) or unmade(one.text, other.text)


def preposition(statement: Statement, token: Token) -> str:
    """The preposition right before a word, articles and adjectives between them apart."""
    at = statement.tokens.index(token)
    for other in reversed(statement.tokens[max(0, at - 3) : at]):
        if other.text in PREPOSITIONS:
            return other.text
        if other.kind in ("number", "mark") or other.text in ("of", "by"):
            return ""
    return ""


def is_verb(statement: Statement, token: Token) -> bool:
    return finite(statement.tokens, statement.tokens.index(token))


def before_verb(statement: Statement, token: Token) -> bool:
    verb = next((i for i in range(len(statement.tokens)) if finite(statement.tokens, i)), 0)
    return statement.tokens.index(token) < verb


def known(held: Held, token: Token) -> bool:
    return token.base in held.others or token.base in held.before


def unknown(held: Held, token: Token) -> bool:
    free = token in held.unmatched and not known(held, token)
    return free and not any(clash(token, r) for r in held.rivals)


def sides_of(statement: Statement, token: Token) -> Sides:
    return sides(statement, statement.tokens.index(token))


def pivots(held: Held, ours: Token, theirs: Token) -> bool:
    if is_verb(held.claim, ours) or is_verb(held.said, theirs):
        return True
    return all(_between(s, t) for s, t in ((held.claim, ours), (held.said, theirs)))


def _between(statement: Statement, token: Token) -> bool:
    """True for a word right between two others, as a verb stands in a short sentence."""
    at = statement.tokens.index(token)
    near = statement.tokens[at - 1 : at] + statement.tokens[at + 1 : at + 2]
    return at > 0 and len(near) == 2 and near[0].told and (near[1].told or near[1].text in DEFINITE)
