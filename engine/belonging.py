"""Checks of a predicate against one of the passage: figures, names and roles go with what the passage gives them to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from engine.contraries import SYMMETRIC, UNIT, base
from engine.held import (
    MIXED,
    SWAPPED,
    Held,
    before_verb,
    clash,
    is_verb,
    known,
    pivots,
    preposition,
    sides_of,
    unknown,
)
from engine.statements import Sides, Statement
from engine.word_kinds import PREPOSITIONS, PRONOUNS, Token, finite

YEAR = re.compile(r"1\d{3}|20\d{2}")


def figures(held: Held) -> str:
    """Figures go with what they count, and with the predicate that gives them."""
    theirs = [(t, _class(held.said, t)) for t in held.said.told if t.value is not None]
    for token in (t for t in held.claim.told if t.value is not None):
        mine = _class(held.claim, token)
        match = next((other for one, other in held.pairs if one is token), None)
        if match is not None:
            kind = _class(held.said, match)
            if mine and kind and mine != kind and (mine in UNIT) and (kind in UNIT):
                return f"the passage doesn't give {token.text} {_following(held.claim, token)}"
            if mine and kind and mine != kind and any(k == mine for t, k in theirs if t is not match):
                return MIXED
        elif known(held, token) and any(
            k == mine or not k or not mine for t, k in theirs if t in held.rivals
        ):
            return MIXED
    return ""


def _class(statement: Statement, token: Token) -> str:
    """What a number counts: the word after it, or that it is a year."""
    following = _following(statement, token)
    if following:
        return base(following)
    return "year" if YEAR.fullmatch(token.text) else ""


def _following(statement: Statement, token: Token) -> str:
    at = statement.tokens.index(token)
    after = statement.tokens[at + 1 : at + 2]
    return after[0].text if after and after[0].kind == "word" else ""


def mixed(held: Held) -> str:
    """A name or a verb of another predicate where this one has its own."""
    for token in held.unmatched:
        if token.kind == "name" and token.base in held.others:
            acts = before_verb(held.claim, token) and token.base not in held.before
            if acts or _own(held, "name") or preposition(held.claim, token):
                return MIXED
        verb = token.kind == "word" and token.base in held.others and is_verb(held.claim, token)
        if verb and any(is_verb(held.said, rival) for rival in held.rivals):
            return MIXED
    return ""


def modifier(held: Held) -> str:
    """Another word before the same noun: "French masons" for "Italian masons"."""
    for ours, theirs in held.pairs:
        one, other = _word_before(held.claim, ours), _word_before(held.said, theirs)
        if one is None or other is None or clash(one, other):
            continue
        if one in held.unmatched and other in held.rivals:
            return MIXED
    return ""


def counted(held: Held) -> str:
    """ "1.5 GB of disk space" for "1.5 GB of memory"."""
    for ours, theirs in held.pairs:
        if ours.value is None:
            continue
        mine, said = _of(held.claim, ours), _of(held.said, theirs)
        if mine is not None and said is not None and mine in held.unmatched and said in held.rivals:
            return MIXED
    return ""


def _of(statement: Statement, number: Token) -> Token | None:
    """The word after the "of" or "per" that follows a number and its unit."""
    at = statement.tokens.index(number)
    near = statement.tokens[at + 1 : at + 5]
    of = next((i for i, t in enumerate(near[:3]) if t.text in ("of", "per")), None)
    return next((t for t in near[of + 1 :] if t.told), None) if of is not None else None


def governed(held: Held) -> str:
    """What follows a preposition, or the same word of the predicate, must not be something else that is spoken of."""
    for token in held.unmatched:
        if token.kind != "word" or is_verb(held.claim, token):
            continue
        way = preposition(held.claim, token)
        for rival in held.rivals:
            if rival.kind != "word" or is_verb(held.said, rival) or clash(token, rival):
                continue
            if way and token.base in held.others and preposition(held.said, rival):
                return MIXED
            if (
                _object_of(held.claim, token)
                and _object_of(held.said, rival)
                and _follows(held, token, rival)
            ):
                return MIXED
    return ""


def _follows(held: Held, token: Token, rival: Token) -> bool:
    """True when both stand right after words that stand for each other."""
    before, other = _neighbour(held.claim, token), _neighbour(held.said, rival)
    return any(one is before and two is other for one, two in held.pairs)


def _neighbour(statement: Statement, token: Token) -> Token | None:
    """What stands right before a word."""
    at = statement.tokens.index(token)
    return statement.tokens[at - 1] if at else None


def _object_of(statement: Statement, token: Token) -> bool:
    """True for a word after the verb of its predicate."""
    at = statement.tokens.index(token)
    return any(finite(statement.tokens, i) for i in range(at))


def _word_before(statement: Statement, token: Token) -> Token | None:
    at = statement.tokens.index(token)
    before = statement.tokens[at - 1] if at else None
    return before if before is not None and before.kind in ("name", "word") else None


def exchanged_places(held: Held) -> str:
    """Two names or two figures, each where the passage has the other; the order within a list says nothing."""
    found = [(a, b) for a, b in held.pairs if a.kind in ("name", "number")]
    for (a, b), (c, d) in itertools.combinations(found, 2):
        if a.kind != c.kind or _listed(held.said, b, d) or _listed(held.claim, a, c):
            continue
        here, there = _neighbours(held.claim, a, c), _neighbours(held.claim, c, a)
        if here != there and (here, there) == (_neighbours(held.said, d, b), _neighbours(held.said, b, d)):
            return MIXED
    return ""


def _listed(statement: Statement, one: Token, other: Token) -> bool:
    first, last = sorted((statement.tokens.index(one), statement.tokens.index(other)))
    return all(
        t.kind in ("name", "number", "mark") or t.text in ("and", "or") for t in statement.tokens[first:last]
    )


def _neighbours(statement: Statement, token: Token, other: Token) -> tuple[str, ...]:
    """The words on both sides of a name; the other name stands for itself."""
    at = statement.tokens.index(token)
    near = (statement.tokens[at - 1 : at], statement.tokens[at + 1 : at + 2])
    return tuple("" if not t else "*" if t[0].base == other.base else t[0].base for t in near)


def _own(held: Held, kind: str) -> bool:
    return any(rival.kind == kind for rival in held.rivals)


def names_placed(held: Held) -> str:
    """A name that the sentence lacks must stand for one of its pronouns, or for "the …" that the claim doesn't use."""
    free = sum(t.text in PRONOUNS for t in held.said.tokens) + _described(held)
    for token in held.unmatched:
        if token.kind != "name" or token.base in held.others:
            continue
        placed = preposition(held.claim, token) or not before_verb(held.claim, token)
        stands_for_it = free and token.base in held.before and not (placed and not _object(held.said))
        if not stands_for_it and (_own(held, "name") or token.base not in held.before):
            return f"the passage doesn't say so of {token.text.capitalize()}"
    return ""


def _described(held: Held) -> bool:
    """True when the passage opens with "the …" and the claim has another word there."""
    first = held.said.tokens[0].text if held.said.tokens else ""
    head = next((t for t in held.said.tokens if t.told), None)
    return first in ("the", "this", "that") and head is not None and head in held.rivals


def _object(statement: Statement) -> bool:
    """True when a pronoun stands after the verb."""
    verb = next((i for i in range(len(statement.tokens)) if finite(statement.tokens, i)), 0)
    return any(t.text in PRONOUNS for t in statement.tokens[verb:])


def roles(held: Held) -> str:
    """Who acts and who is acted on, round a verb that both have; of a comparison `order` judges."""
    if all(_compares(s) for s in (held.claim, held.said)):
        return ""
    for ours, theirs in held.pairs:
        if ours.kind != "word" or ours.base in SYMMETRIC or not pivots(held, ours, theirs):
            continue
        mine, said = sides_of(held.claim, ours), sides_of(held.said, theirs)
        if why := _turned(held, mine, said):
            return why
        verb = is_verb(held.claim, ours) or is_verb(held.said, theirs)
        if verb and _other(held, mine.acting, said.acting):
            return MIXED
        if verb and _other(held, mine.acted_on, said.acted_on):
            return MIXED
    return ""


def _compares(statement: Statement) -> bool:
    texts = [t.text for t in statement.tokens]
    return "than" in texts or texts.count("as") > 1


def _turned(held: Held, mine: Sides, said: Sides) -> str:
    mine, said = (_apart(one, said.before & said.after) for one in (mine, said))
    kept = mine.acting & said.acting
    if mine.acting & said.acted_on and mine.acted_on & said.acting and not kept:
        return SWAPPED
    if mine.acted_on & said.acting and said.acted_on and not mine.acted_on & said.acted_on and not kept:
        return SWAPPED
    if mine.passive != said.passive or mine.before & said.before:
        return ""
    if mine.before & said.after and (mine.after & said.before or not said.before):
        return SWAPPED
    return SWAPPED if said.before and said.before <= mine.after else ""


def _apart(found: Sides, both: frozenset[str]) -> Sides:
    """Without what stands on both sides, as a surname of two does."""
    return Sides(
        found.acting - both, found.acted_on - both, found.before - both, found.after - both, found.passive
    )


def _other(held: Held, mine: frozenset[str], said: frozenset[str]) -> bool:
    """True when one side of the claim is about something the sentence doesn't have, in place of what it has there."""
    taken = {other.base for _, other in held.pairs}
    unknown = {t.base for t in held.unmatched}
    stands_for_it = _described(held) and mine <= held.before
    return bool(mine) and bool(said) and mine <= unknown and not said & taken and not stands_for_it


def subject(held: Held) -> str:
    """What the claim is about must be what the predicate is about, or stand for its pronoun or its "the …"."""
    mine, said = (_before_first_verb(s) for s in (held.claim, held.said))
    matched = {t.base for pair in held.pairs for t in pair}
    passive = [any(t.text == "by" for t in s.tokens) for s in (held.claim, held.said)]
    if not mine or not said or passive[0] != passive[1] or (mine | said) & matched:
        return ""
    return "" if _described(held) and mine <= held.before else MIXED


def _before_first_verb(statement: Statement) -> frozenset[str]:
    verb = next((i for i in range(len(statement.tokens)) if finite(statement.tokens, i)), 0)
    return frozenset(t.base for t in statement.tokens[:verb] if t.kind in ("name", "word"))


def added(held: Held) -> str:
    """A phrase of the claim ("in winter", "because of rain") of which the passage has no word."""
    for phrase in _phrases(held.claim):
        told = [t for t in phrase if t.told]
        if told and all(unknown(held, t) for t in told):
            return f"the passage doesn't say “{' '.join(t.text for t in phrase)}”"
    own = [t for t in held.claim.told if t in held.claim.tokens[held.claim.given :]]
    foreign = [t for t in own if unknown(held, t)]
    return "the passage doesn't say so" if held.claim.given and 2 * len(foreign) > len(own) else ""


def _phrases(statement: Statement) -> Iterator[list[Token]]:
    """What follows each preposition up to the next one or a mark."""
    phrase: list[Token] = []
    for index, token in enumerate(statement.tokens):
        opens = token.text in PREPOSITIONS or token.text in ("because", "by")
        if (opens or token.kind == "mark" or finite(statement.tokens, index)) and phrase:
            yield phrase
            phrase = []
        if opens or phrase:
            phrase.append(token)
    if phrase:
        yield phrase
