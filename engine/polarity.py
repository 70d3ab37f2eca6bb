"""Negation: which words of a sentence a negator, a denial or a contrast reaches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.denials import frames, trailing, until
from engine.lexicon import AUXILIARIES, NEGATORS, VERBS
from engine.stems import stem, word_set

STOPS = frozenset(".!?;:()[]—-\n")
# Words after which a negation no longer reaches.
ENDERS = word_set(
    "but however whereas while although though yet because since so if when unless which who instead "
    "only until "
    "therefore thus just rather where as"
)
PRONOUNS = word_set("it they he she this that these those we you i there")
# Negated nouns: they deny the verb, which stands after them as a subject and before them as an object.
NEGATED_NOUNS = word_set("no nothing nobody none neither")
NOT_NEGATING = ("only", "just", "merely", "simply", "solely", "surprisingly", "even")
# Denials of everything that follows in the sentence.
DENIALS = re.compile(
    r"\b(?:(?:it|that|this|which)(?: is| was|'s)? (?:not|never|hardly|isn't) (?:be )?"
    r"(?:true|correct|right|accurate|the case|so|fair|a fact)(?: to "
    r"(?:say|claim|think|believe|state))?(?: that)?"
    r"|(?:it|that|this)(?: is|'s) (?:false|wrong|incorrect|untrue|inaccurate|a myth|a misconception|a "
    r"mistake|nonsense)"
    r"(?: to (?:say|claim|think|believe|state))?(?: that)?"
    r"|it isn't (?:true|correct|right|the case)(?: to (?:say|claim|think|believe|state))?(?: that)?"
    r"|not (?:true|correct|the case) that"
    r"|(?:a |the )?(?:common |popular |frequent |usual |widespread "
    r")?(?:myth|misconception|fallacy|mistake|error)"
    r" (?:is|says|claims|would be)(?: to (?:say|claim|think|believe|assume))?(?: that)?"
    r"|(?:i |we )?(?:deny|denies|disagree|doubt|dispute|disputes|reject|rejects)(?: with)?(?: the "
    r"(?:claim|idea))? that"
    r"|(?:i |we |you )?(?:don't|do not|wouldn't|would not|shouldn't|should not|cannot|can't) "
    r"(?:think|believe|say|claim|assume|conclude|agree)(?: that)?"
    r"|(?:people|many|some|they|others|beginners) (?:wrongly|falsely|mistakenly|incorrectly) "
    r"(?:think|believe|say|claim|assume)(?: that)?"
    r"|(?:wrongly|falsely|mistakenly|incorrectly) (?:thought|believed|said|claimed|assumed)(?: to)?)\b"
)
CONTRASTS = (
    ("rather", "than"),
    ("instead", "of"),
    ("as", "opposed", "to"),
    ("in", "place", "of"),
    ("far", "from"),
    ("better", "than"),
)
NOT_DENIED = word_set("matter doubt wonder surprise secret question denying accident coincidence") | {
    ",",
    ".",
}
UNDOUBTED = word_set("doubt question saying exception fail")
AVOIDING = word_set("avoid avoids avoided avoiding stop stops")
SINGLE_CONTRASTS = frozenset(("unlike", "without", "minus"))


@dataclass(frozen=True, slots=True)
class Scope:
    """A negation over tokens [start, end); `whole` when it denies a whole statement.

    The `free` tokens before `start` are a negated subject ("no list | can hold"): either polarity fits.
    """

    start: int
    end: int
    whole: bool = False
    free: int = 0


def scopes(tokens: Sequence[str]) -> list[Scope]:
    """The negations of one sentence, as ranges over its tokens (lower-case words and punctuation)."""
    spoken = [*frames(tokens), *([back] if (back := trailing(tokens)) else [])]
    framed = {i for denial in spoken for i in range(denial.start, denial.end)}
    found = [Scope(denial.over, denial.until, True) for denial in spoken if denial.odd]
    used = framed | _denial_tokens(tokens)
    found += [scope for scope, start in _denials(tokens) if start not in framed]
    for i in range(len(tokens)):
        if i in used:
            continue
        start = _negation_start(tokens, i)
        if start is not None:
            verb = _to_the_verb(tokens, i, start)
            end = _end_of_phrase(tokens, start) if tokens[i] == "without" else _end(tokens, start)
            found.append(Scope(verb, end, free=max(0, verb - start)))
    return [scope for scope in found if scope.end > scope.start]


def _negation_start(tokens: Sequence[str], i: int) -> int | None:
    """Index after a negator that starts at token i, or None."""
    token = tokens[i]
    following = tokens[i + 1] if i + 1 < len(tokens) else ""
    for phrase in CONTRASTS:
        if tuple(tokens[i : i + len(phrase)]) == phrase:
            return i + len(phrase)
    if token in SINGLE_CONTRASTS:
        return None if _beyond_doubt(tokens, i) else i + 1
    if token in NEGATORS:
        return _after_negator(tokens, i, following)
    if token in AVOIDING and following.endswith("ing"):
        return i + 1
    if token in ("fails", "fail", "failed", "failing", "unable") and following == "to":
        return i + 2
    return None


def _after_negator(tokens: Sequence[str], i: int, following: str) -> int | None:
    token = tokens[i]
    if following in NOT_NEGATING or _either_way(tokens, i):
        return None
    if token in NEGATED_NOUNS and (following == "but" or tuple(tokens[i + 1 : i + 3]) == ("other", "than")):
        return None
    if token == "no" and following == "longer":
        return i + 2
    if token == "no" and following in NOT_DENIED:
        return None
    if token == "neither" and following == "of":
        return i + 2
    return i + 1


def _beyond_doubt(tokens: Sequence[str], i: int) -> bool:
    """The "without" of "without a doubt", "goes without saying": it stresses what it stands beside."""
    after = [token for token in tokens[i + 1 : i + 3] if token not in ("a", "any")]
    return tokens[i] == "without" and bool(after) and after[0] in UNDOUBTED


def _either_way(tokens: Sequence[str], i: int) -> bool:
    """The "not" of "may or may not", "whether or not": it denies nothing."""
    return tokens[i] == "not" and "or" in tokens[max(0, i - 2) : i]


def _to_the_verb(tokens: Sequence[str], i: int, start: int) -> int:
    """Where the reach of a negated noun begins: at its verb ("no list holds", "changes nothing")."""
    if tokens[i] not in NEGATED_NOUNS or (tokens[i] == "no" and start == i + 2):
        return start
    breaks = STOPS | ENDERS | {",", "and", "or"}
    opening = max((j + 1 for j in range(i) if tokens[j] in breaks), default=0)
    before = [j for j in range(opening, i) if _is_verb(tokens[j])]
    if before:
        return before[-1]
    after = [j for j in range(start, _end(tokens, start)) if _is_verb(tokens[j])]
    return after[0] if after else start


def _is_verb(token: str) -> bool:
    return token in AUXILIARIES or stem(token) in VERBS


def _end(tokens: Sequence[str], start: int) -> int:
    for j in range(start, len(tokens)):
        token = tokens[j]
        following = tokens[j + 1] if j + 1 < len(tokens) else ""
        if token in STOPS or (token in ENDERS and j > start) or token == "nor":
            return j
        if token == "," and following not in ("or", "nor"):
            return j
        if token == "and" and (following in NEGATORS or _starts_new_predicate(following)):
            return j
    return len(tokens)


def _end_of_phrase(tokens: Sequence[str], start: int) -> int:
    """ "Without" reaches what follows up to the verb of the sentence."""
    end = _end(tokens, start)
    return next((j for j in range(start + 1, end) if tokens[j] in AUXILIARIES), end)


def _starts_new_predicate(word: str) -> bool:
    return (
        word in AUXILIARIES
        or word in PRONOUNS
        or (len(word) > 4 and word.endswith("s") and word[-2] not in "su")
    )


def _spans(tokens: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    spans, at = [], 0
    for token in tokens:
        spans.append((at, at + len(token)))
        at += len(token) + 1
    return " ".join(tokens), spans


def _denials(tokens: Sequence[str]) -> Iterator[tuple[Scope, int]]:
    """Scopes of the denials inside a sentence, each with the token at which its phrase begins."""
    text, spans = _spans(tokens)
    for match in DENIALS.finditer(text):
        first = next((i for i, (begin, _) in enumerate(spans) if begin >= match.start()), 0)
        start = next((i for i, (begin, _) in enumerate(spans) if begin >= match.end()), len(tokens))
        if start < len(tokens) and tokens[start][0].isalnum():
            yield Scope(start, until(tokens, start), True), first


def _denial_tokens(tokens: Sequence[str]) -> set[int]:
    """Tokens that are part of a denial phrase, so that their own negator isn't counted again."""
    text, spans = _spans(tokens)
    used: set[int] = set()
    for match in DENIALS.finditer(text):
        used |= {i for i, (begin, end) in enumerate(spans) if begin >= match.start() and end <= match.end()}
    return used
