"""An answer cut into sentences and clauses of words, each word with its span, stem and polarity."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.lexicon import AUXILIARIES, CONTENT_AFTER_ALL, CONTRAST, FUNCTION_WORDS, HEDGES, NEGATORS, VERBS
from engine.mentions import mentions
from engine.polarity import Scope, scopes
from engine.spread import spread
from engine.stems import stem, word_set

Token = tuple[str, int, int]
TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?|\n+|[.!?;:,()\[\]—/]|(?<=\s)-(?=\s)")
# A full stop after these ends no sentence.
ABBREVIATIONS = word_set("e g i eg ie vs etc approx ca cf fig no resp incl")
HARD_BREAKS = frozenset(";:()[]—-")
JOINERS = word_set(
    "and or so because since but whereas while although though however which therefore thus hence"
)
ARTICLES = frozenset(("the", "a", "an"))
NEVER_AFTER_ARTICLE = AUXILIARIES | word_set(
    "of with for from by and or but because which that in on at to into"
)
SALAD_LENGTH = 12
MIN_CONTENT = 2
LIST_ITEMS = 3
BARE_WORDS = 4
LIST_ITEM_WORDS = 3.5


@dataclass(frozen=True, slots=True)
class Word:
    """One word: lower-case text, stem, span in the matching text, and whether it can carry meaning."""

    text: str
    stem: str
    start: int
    end: int
    content: bool


@dataclass(frozen=True, slots=True)
class Clause:
    """A run of words that can be judged alone; `scopes` are its negations, over indexes into `words`."""

    words: tuple[Word, ...]
    scopes: tuple[Scope, ...]
    sentence: int
    question: bool
    hedged: bool
    listed: bool
    cuts: tuple[int, ...] = ()  # indexes of the words that begin another clause of a sentence

    @property
    def start(self) -> int:
        """First character in the matching text."""
        return self.words[0].start

    @property
    def end(self) -> int:
        """Character after the last one in the matching text."""
        return self.words[-1].end

    @property
    def content(self) -> tuple[int, ...]:
        """Indexes of the words that carry meaning."""
        return tuple(i for i, word in enumerate(self.words) if word.content)


@lru_cache(maxsize=4096)
def sentences(text: str, carry: bool = False) -> tuple[Clause, ...]:
    """The sentences of a normalised text, each as one clause; `carry` reads a denial that opens it on to the end."""
    return tuple(whole for whole, _ in _parsed(text, carry))


@lru_cache(maxsize=4096)
def clauses(text: str, carry: bool = False) -> tuple[Clause, ...]:
    """The clauses of a normalised text; a sentence that can't be cut is one clause."""
    return tuple(piece for whole, tokens in _parsed(text, carry) for piece in _sliced(whole, tokens))


def _parsed(text: str, carry: bool) -> list[tuple[Clause, list[Token]]]:
    """Sentences with their tokens; three or more bare terms, one a line or sentence, are a list."""
    out = [
        (_with_cuts(_clause(tokens, i), tokens), tokens)
        for i, tokens in enumerate(_sentence_tokens(text))
        if any(_is_word(token) for token, _, _ in tokens)
    ]
    out = spread(out, carry)
    bare = [len(whole.words) <= BARE_WORDS and not _says_how(whole.words) for whole, _ in out]
    if sum(bare) < LIST_ITEMS:
        return out
    return [
        (replace(whole, listed=True) if is_bare else whole, tokens)
        for (whole, tokens), is_bare in zip(out, bare, strict=True)
    ]


def _with_cuts(whole: Clause, tokens: Sequence[Token]) -> Clause:
    return replace(whole, cuts=tuple(_cuts(tokens, whole)))


def content_word(text: str) -> bool:
    """True for words that say what a clause is about (numbers and symbols included)."""
    return text in CONTENT_AFTER_ALL or (text not in FUNCTION_WORDS and text not in NEGATORS)


def has_verb(words: Sequence[Word]) -> bool:
    """True when some word is an auxiliary, a common verb, or looks like an inflected one."""
    return any(
        word.text in AUXILIARIES
        or word.stem in VERBS
        or word.text.endswith(("ing", "ed", "ates", "izes", "ifies"))
        for word in words
    )


def _sentence_tokens(text: str) -> Iterator[list[Token]]:
    run: list[Token] = []
    for match in TOKEN.finditer(text):
        token = match.group()
        run.append((token.lower(), match.start(), match.end()))
        if _ends_sentence(text, run):
            yield run
            run = []
    if run:
        yield run


def _ends_sentence(text: str, run: Sequence[Token]) -> bool:
    token, _, end = run[-1]
    if token in "!?" or token.startswith("\n"):
        return True
    if token != ".":
        return False
    previous = run[-2][0] if len(run) > 1 else ""
    after = text[end : end + 1]
    return (not after or after.isspace()) and previous not in ABBREVIATIONS


def _is_word(token: str) -> bool:
    return token[0].isalnum()


def _clause(tokens: Sequence[Token], sentence: int) -> Clause:
    words = tuple(_word(token) for token in tokens if _is_word(token[0]))
    texts = [token for token, _, _ in tokens]
    positions = _positions(texts)
    found = tuple(_on_words(scope, positions) for scope in scopes(texts))
    joined = " ".join(word.text for word in words)
    return Clause(
        words,
        tuple(scope for scope in found if scope.end > scope.start),
        sentence,
        question=texts[-1] == "?",
        hedged=_hedged(joined),
        listed=_is_list(texts, words) or _is_salad(words) or mentions(texts),
    )


@lru_cache(maxsize=65536)
def _cached_parts(text: str) -> tuple[str, bool]:
    return stem(text), content_word(text)


def _word(token: Token) -> Word:
    text, start, end = token
    root, content = _cached_parts(text)
    return Word(text, root, start, end, content)


def _positions(texts: Sequence[str]) -> list[int]:
    """For each token index, how many words came before it."""
    out, count = [], 0
    for text in texts:
        out.append(count)
        count += _is_word(text)
    return [*out, count]


def _on_words(scope: Scope, positions: Sequence[int]) -> Scope:
    start = positions[scope.start]
    return Scope(start, positions[scope.end], scope.whole, start - positions[scope.start - scope.free])


def _hedged(joined: str) -> bool:
    return any(f" {hedge} " in f" {joined} " for hedge in HEDGES)


def _is_salad(words: Sequence[Word]) -> bool:
    """Words in no English order: articles before prepositions, conjunctions, auxiliaries or nothing."""
    after = [*(word.text for word in words[1:]), ""]
    odd = sum(
        word.text in ARTICLES and (following in NEVER_AFTER_ARTICLE or not following)
        for word, following in zip(words, after, strict=True)
    )
    return odd >= 2 or (odd == 1 and len(words) <= SALAD_LENGTH)


def _is_list(texts: Sequence[str], words: Sequence[Word]) -> bool:
    """A run of terms that states nothing: no verb, hardly a function word, commas or nothing between."""
    if len(words) < LIST_ITEMS:
        return False
    small = sum(1 for word in words if not word.content)
    items = 1 + sum(1 for text in texts if text in ",;/\n—")
    short_items = items >= LIST_ITEMS and len(words) / items <= LIST_ITEM_WORDS
    verbs = sum(1 for word in words if word.text in AUXILIARIES)
    if short_items and not verbs and small <= 0.34 * len(words):
        return True
    return len(words) >= 5 and not verbs and small == 0 and not has_finite_verb(words)


def _says_how(words: Sequence[Word]) -> bool:
    return any(word.text in AUXILIARIES for word in words) or has_finite_verb(words)


def has_finite_verb(words: Sequence[Word]) -> bool:
    """True when a common verb stands in the clause in a form that only verbs have."""
    return any(word.stem in VERBS and word.text.endswith(("s", "ed")) for word in words)


def _sliced(whole: Clause, tokens: Sequence[Token]) -> Iterator[Clause]:
    cuts = [0, *whole.cuts, len(whole.words)]
    for start, end in itertools.pairwise(cuts):
        words = whole.words[start:end]
        if not words:
            continue
        inside = tuple(
            Scope(max(scope.start, start) - start, min(scope.end, end) - start, scope.whole, scope.free)
            for scope in whole.scopes
            if scope.start < end and scope.end > start
        )
        hedged = _hedged(" ".join(word.text for word in words))
        yield Clause(words, inside, whole.sentence, whole.question, hedged, whole.listed)


def _cuts(tokens: Sequence[Token], whole: Clause) -> list[int]:
    """Word indexes where a new clause starts."""
    texts = [token for token, _, _ in tokens]
    positions = _positions(texts)
    cuts: list[int] = []
    for i, text in enumerate(texts[:-1]):
        following = texts[i + 1]
        at = positions[i + 1] if not _is_word(text) else positions[i]
        soft = (text == "," and following not in ("or", "nor")) or (text in JOINERS and text != "or")
        hard = text in HARD_BREAKS or text in CONTRAST - {"only", "except", "rather", "instead"}
        left = whole.words[cuts[-1] if cuts else 0 : at]
        right = whole.words[at:]
        if (hard and _says_something(left, 1) and _says_something(right, 1)) or (
            soft and _states(left) and _states(_upto_break(texts, i + 1, tokens))
        ):
            cuts.append(at)
    return cuts


def _upto_break(texts: Sequence[str], start: int, tokens: Sequence[Token]) -> list[Word]:
    out: list[Word] = []
    for j in range(start, len(texts)):
        if not _is_word(texts[j]) and j > start:
            break
        if _is_word(texts[j]):
            out.append(_word(tokens[j]))
    return out


def _says_something(words: Sequence[Word], at_least: int = MIN_CONTENT) -> bool:
    return sum(1 for word in words if word.content) >= at_least


def _states(words: Sequence[Word]) -> bool:
    return _says_something(words) and has_verb(words)
