"""Checks of a predicate against one of the passage: contrary words, negations, orders, prepositions, shares."""

from __future__ import annotations

from engine.alignment import negated_words
from engine.clauses import sentences
from engine.contraries import ALL, DENY, FRACTIONS, LEVEL, SOLE, SOME, base, contrary, converse
from engine.held import LEVELLED, MIXED, OPPOSITE, SWAPPED, Held, clash, pivots, preposition, sides_of
from engine.statements import Statement
from engine.stems import word_set
from engine.word_kinds import SIDES_END, Token, finite

APART = (
    (frozenset(("against",)), frozenset(("favour", "favor"))),
    (frozenset(("behind",)), frozenset(("ahead",))),
    (frozenset(("inside", "within")), frozenset(("outside",))),
)
COMPARING = ("than", "as")
BEYOND = frozenset(
    base(word)
    for word in word_set("more less most least exceed surpass outnumber lose defeat beat prefer twice half")
)
ORDERING = (*sorted(SIDES_END), "as")
BETWEEN = (SOME, SOME + 2)  # some, many: a third may be that
NONE = frozenset(("neither", "no", "none", "nobody"))


def opposite(held: Held) -> str:
    """A contrary word, where no negation makes up for it; a negation, where no contrary word does."""
    ours, theirs = negated(held.claim), negated(held.said)
    made_up = False
    for token in held.unmatched:
        for rival in held.rivals:
            if clash(token, rival) and not compared(held, token, rival):
                turned = (token.base in ours) != (rival.base in theirs)
                turned = turned or (rival.base in DENY and bool(ours))
                if not (turned or (converse(token.base, rival.base) and changed(held, token, rival))):
                    return OPPOSITE
                made_up = made_up or turned
    if not made_up and _negation_differs(held, ours, theirs):
        return OPPOSITE
    mine, said = ({t.base for t in s.told} & DENY for s in (held.claim, held.said))
    return OPPOSITE if bool(mine - said) != bool(said - mine) and not (ours or theirs) else ""


def _negation_differs(held: Held, ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """By their verb where it is negated in either, else by any word: the rest of a negation reaches differs in a passive."""
    pairs = [
        (a.base in ours, b.base in theirs, pivots(held, a, b)) for a, b in held.pairs if a.kind != "number"
    ]
    verbs = [(a, b) for a, b, verb in pairs if verb and (a or b)]
    return any(a != b for a, b in verbs or [(a, b) for a, b, _ in pairs])


def negated(statement: Statement) -> frozenset[str]:
    """Words that an odd number of negations reach."""
    first = next((t.text for t in statement.tokens), "")
    if first in NONE:
        verb = next((i for i in range(len(statement.tokens)) if finite(statement.tokens, i)), 0)
        return frozenset(t.base for t in statement.tokens[verb:] if t.told)
    inside: set[str] = set()
    outside: set[str] = set()
    for clause in sentences(statement.text):
        for word, negated in zip(clause.words, negated_words(clause), strict=True):
            (inside if negated else outside).add(base(word.text))
    return frozenset(inside - outside)


def compared(held: Held, token: Token, rival: Token) -> bool:
    """True for words of a comparison or an order in time, of which `_changed_about` judges."""
    return _before_than(held.claim, token) and _before_than(held.said, rival)


def _before_than(statement: Statement, token: Token) -> bool:
    than = next(
        (statement.tokens[i].start for name in COMPARING if (i := _place(statement, name)) is not None), None
    )
    return than is not None and token.start < than


def uncompared(held: Held) -> str:
    """A comparison of the claim ("hotter than the mill") where the passage compares nothing."""
    at = _place(held.claim, "than")
    after = next((t for t in held.claim.tokens[at + 1 :] if t.told), None) if at is not None else None
    if after is None or after.value is not None:
        return ""
    said = held.said.tokens
    compares = any(_place(held.said, word) is not None for word in ORDERING)
    compares = compares or any(t.text.endswith(("er", "est")) or t.base in BEYOND for t in said if t.told)
    return "" if compares else "the passage compares nothing"


def order(held: Held) -> str:
    """More than, before, after: the word and the two sides of it."""
    for mine in ORDERING:
        for other in ORDERING:
            ours, theirs = _divided(held.claim, mine), _divided(held.said, other)
            if ours is None or theirs is None or (mine in COMPARING) != (other in COMPARING):
                continue
            turned = mine != other
            if mine in COMPARING:
                turned = any(
                    clash(t, r) and compared(held, t, r) for t in held.unmatched for r in held.rivals
                )
            crossed = _crossed(_bare(ours), _bare(theirs))
            if turned != crossed:
                return OPPOSITE if turned else SWAPPED
            if mine in COMPARING and not crossed and ours[1] and not ours[1] & theirs[1]:
                return MIXED
    return ""


def _divided(statement: Statement, at: str) -> tuple[frozenset[str], frozenset[str]] | None:
    place = _place(statement, at)
    if place is None:
        return None
    left, right = statement.tokens[:place], statement.tokens[place + 1 :]
    return frozenset(t.base for t in left if t.told), frozenset(t.base for t in right if t.told)


def _place(statement: Statement, word: str) -> int | None:
    """Where a comparison or an order is divided: of "as fast as" at the second."""
    places = [i for i, t in enumerate(statement.tokens) if t.text == word]
    if word == "as":
        return places[-1] if len(places) > 1 else None
    return places[0] if places else None


def _crossed(
    ours: tuple[frozenset[str], frozenset[str]], theirs: tuple[frozenset[str], frozenset[str]]
) -> bool:
    return bool(ours[1] & theirs[0] and ours[0] & theirs[1] and not ours[1] & theirs[1])


def _bare(found: tuple[frozenset[str], frozenset[str]]) -> tuple[frozenset[str], frozenset[str]]:
    """The sides without the words that both sides of the passage's comparison share."""
    return found[0] - found[1], found[1] - found[0]


def prepositions(held: Held) -> str:
    """ "From 40" for "to 40", "under 16" for "over 16"."""
    for ours, theirs in held.pairs:
        a, b = preposition(held.claim, ours), preposition(held.said, theirs)
        if not a:
            continue
        against = contrary(base(a), base(b)) or {a, b} == {"from", "to"}
        if b and against and not {a, b} <= SIDES_END:
            return OPPOSITE
        if a != b and any(
            r.kind == ours.kind != "word" and preposition(held.said, r) == a for r in held.rivals
        ):
            return MIXED
    mine, said = ({t.text for t in s.tokens} for s in (held.claim, held.said))
    return OPPOSITE if any(_apart(mine, said, *pair) or _apart(said, mine, *pair) for pair in APART) else ""


def _apart(one: set[str], other: set[str], a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(one & a and other & b and not one & b and not other & a)


def levels(held: Held) -> str:
    """ "All" for "most", "never" for "rarely"; "only" where the passage has none."""
    ours, theirs = _level(held.claim), _level(held.said)
    parts = [{t.text for t in s.tokens} & FRACTIONS for s in (held.claim, held.said)]
    if all(parts) and parts[0] != parts[1]:
        return LEVELLED
    if ours is not None and theirs is None and ours not in BETWEEN and _fraction(held.said):
        return LEVELLED
    if ours is not None and theirs is not None and ours != theirs and not SOME <= ours < theirs:
        return LEVELLED
    mine = {t.text for t in held.claim.tokens}
    said = {t.text for t in held.said.tokens}
    if ours == ALL and theirs is None and mine & {"always", "every", "all"}:
        return LEVELLED
    return LEVELLED if mine & SOLE and not said & (SOLE | {"just", "but", "except"}) else ""


def _fraction(statement: Statement) -> bool:
    """True for "a third of", which is neither most nor all; "the third" is no share."""
    shares = [i for i, t in enumerate(statement.tokens) if t.text in FRACTIONS and t.text != "half"]
    return any(statement.tokens[i - 1].text in ("a", "one") for i in shares if i)


def _level(statement: Statement) -> int | None:
    words = [t for t in statement.tokens if t.text in LEVEL]
    return LEVEL[words[0].text] if words else None


def changed(held: Held, ours: Token, theirs: Token) -> bool:
    """True when the two sides of a verb and of its converse are changed about."""
    mine, said = sides_of(held.claim, ours), sides_of(held.said, theirs)
    return bool(mine.before & said.after and mine.after & said.before and not mine.before & said.before)
