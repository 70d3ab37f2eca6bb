"""A sentence as what it states: cut where a new predicate begins, each with what it takes from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from engine.contraries import base
from engine.lexicon import AUXILIARIES
from engine.stems import word_set
from engine.word_kinds import BE, JOINERS, PREPOSITIONS, PRONOUNS, SIDES_END, Token, finite, tokens

HARD = frozenset(";:()—")
DENYING_AFTER = frozenset(("not", "never"))
CONDITIONS = word_set("if unless provided")


@dataclass(frozen=True)
class Statement:
    """Tokens of one predicate; the first `given` of them stand in another part of the sentence and belong to it too."""

    tokens: tuple[Token, ...]
    given: int = 0
    condition: frozenset[str] = frozenset()  # the words of "if …" before it, where it holds only then

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
    if not parts:
        return []
    said = [_with_subject(parts[0], part, parts[i - 1]) for i, part in enumerate(parts)]
    if said[0].tokens and said[0].tokens[0].text in CONDITIONS and len(said) > 1:
        said[1] = replace(said[1], condition=said[0].bases)
    return [one for whole in said for one in _without_exception(whole)]


def _cut(mark: str, left: Sequence[Token], right: Sequence[Token]) -> bool:
    if mark == ";":
        return any(t.told for t in left) and any(t.told for t in right)
    if _states(left) and (_states(right) or mark in HARD or (right and right[0].text in DENYING_AFTER)):
        return True
    if mark == "," and left and left[0].text in CONDITIONS and _states(right):
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


def _with_subject(first: Sequence[Token], part: Sequence[Token], last: Sequence[Token]) -> Statement:
    """The part with the words that it takes from the first one, or from the end of the one before it."""
    verbs = [token for i, token in enumerate(part) if finite(part, i)]
    body = list(part)
    while body and (body[0].kind == "mark" or (body[0].text in JOINERS and body[0].text not in PRONOUNS)):
        body = body[1:]
    if part is first or not body or (part[0].text == ";" and sum(t.kind == "word" for t in body) > 1):
        return Statement(tuple(body))
    if body[0].text in DENYING_AFTER:
        return _denied(first, body)
    if body[0].text in ("he", "she") and (
        named := [t for t in first[: _first_verb(first)] if t.kind == "name"]
    ):
        return Statement((*named, *body[1:]), len(named))
    if body[0].text == "which" and (taken_up := _last_named(last)):
        return Statement((*taken_up, *body), len(taken_up))
    verb = next((i for i, token in enumerate(body) if token in verbs), None)
    if verb is None:  # a second figure for the same predicate
        acting = _first_verb(first)
        phrase = next((i for i in range(acting, len(first)) if first[i].text in PREPOSITIONS), len(first))
        shared = [t for i, t in enumerate(first[:phrase]) if i < acting or t.kind in ("word", "small")]
        return Statement((*shared, *body), len(shared))
    first_verb = _first_verb(first)
    if any(token.told or token.text in PRONOUNS for token in body[:verb]):
        missing = body[verb].text in AUXILIARIES and not any(token.told for token in body[verb:])
        return Statement((*body, *first[first_verb + 1 :]) if missing else tuple(body))
    shared = [token for token in first[:first_verb] if token.text != "never"]
    needs = body[verb].text not in AUXILIARIES and first_verb < len(first) and first[first_verb].text in BE
    shared += [first[first_verb]] if needs and any(t.text == "by" for t in body) else []
    return Statement((*shared, *body), len(shared))


def _first_verb(part: Sequence[Token]) -> int:
    return next((i for i in range(len(part)) if finite(part, i)), len(part))


def _denied(first: Sequence[Token], body: Sequence[Token]) -> Statement:
    """What "…, not to Okoye" denies: the predicate before it, with this in place of what stands there."""
    verb = _first_verb(first)
    # From where both go on alike: "to" in "to Okoye".
    alike = [i for i in range(verb + 1, len(first)) if body[1:] and first[i].text == body[1].text]
    rest = alike[-1] if alike else verb + 1
    helps = verb < len(first) and first[verb].text in AUXILIARIES
    at = verb + helps
    shared = (*first[:at], body[0], *first[at:rest])
    return Statement((*shared, *body[1:]), len(shared))


def _opens_a_part(token: Token) -> bool:
    return token.text in PREPOSITIONS or token.kind == "mark"


def _last_named(part: Sequence[Token]) -> tuple[Token, ...]:
    """The name that "which" takes up, where one stands right before it."""
    out: list[Token] = []
    for token in reversed(part):
        if token.kind == "name":
            out.insert(0, token)
        elif out or token.kind != "mark":
            break
    return tuple(out)


def _without_exception(said: Statement) -> list[Statement]:
    """ "Daily except Monday" as two: daily, and not on Monday."""
    at = next((i for i, t in enumerate(said.tokens) if t.text == "except"), 0)
    verb = _first_verb(said.tokens)
    if at <= verb:
        return [said]
    end = at + 2
    while end < len(said.tokens) and not _opens_a_part(said.tokens[end]):
        end += 1
    helps = said.tokens[verb].text in AUXILIARIES
    denied = Token("not", "not", said.tokens[at].start, said.tokens[at].end, "small")
    left = said.tokens[: verb + helps]
    other = Statement(
        (*left, denied, *said.tokens[verb + helps : verb + helps + 1], *said.tokens[at + 1 : end]), len(left)
    )
    return [replace(said, tokens=(*said.tokens[:at], *said.tokens[end:])), other]


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
    words = tuple(_up_to_order(statement.tokens, at))
    before, after = _main(words[:at], leading=True), words[at + 1 :]
    passive = any(t.text in BE for t in words[max(0, at - 3) : at]) or _by_somebody(words[at + 1 : at + 4])
    agent = next((i for i, t in enumerate(after) if t.text == "by"), None) if passive else None
    first, last = _bases(before), _bases(after)
    if agent is not None:
        return Sides(_bases(_main(after[agent + 1 :])), first, first, last, True)
    if passive:
        return Sides(frozenset(), first, first, last, True)
    return Sides(first, _bases(_main(after)), first, last, False)


def _by_somebody(after: Sequence[Token]) -> bool:
    """The "by" of "a mill built by Holt"; that of "rose by 6%" says how much."""
    if not after or after[0].text != "by":
        return False
    return next((t.kind for t in after[1:] if t.told), "number") != "number"


def _up_to_order(words: Sequence[Token], at: int) -> Sequence[Token]:
    """Without what follows "before" or "after": that isn't acted on, and `order` judges it."""
    if words[at].base == base("named"):  # after whom somebody is named is no order in time
        return words
    end = next((i for i in range(at + 1, len(words)) if words[i].text in ("before", "after")), len(words))
    return words[:end]


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
