"""BPE: merges learned from word counts, step by step, and new words encoded with them in the learned order.

Sennrich, Haddow, Birch, arXiv 1508.07909: count adjacent pairs weighted by word count, merge the most frequent, repeat.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.lists import named_numbers
from interview.calculators.formulas.parameters import choice, flag, refuse, text, visible, whole
from interview.calculators.formulas.result import (
    Chart,
    Headline,
    Result,
    Series,
    Table,
    Value,
    Working,
    program,
)

END = "</w>"
MOST_WORDS = 200
CORPUS = "play 5, plays 3, played 4, player 2, day 7, plan 2"
Pair = tuple[str, str]
Words = dict[tuple[str, ...], int]


@dataclass(frozen=True, slots=True)
class BpeInputs:
    """A corpus as word counts, how many merges, and words to encode."""

    words: str = text(
        CORPUS, "Word counts", longest=6000, rows=6, hint="word and count, such as play 5, plays 3"
    )
    merges: int = whole(4, "Merges", low=0, high=500)
    encode: str = text("replay", "Encode", longest=400, hint="words the merges are tried on")
    tie_break: str = choice(
        "first",
        "A tie goes to",
        [("first", "the pair seen first"), ("alphabetical", "the first by alphabet")],
    )
    end_of_word: bool = flag("mark the end of a word", hint="so that final s differs from inner s")


@dataclass(frozen=True, slots=True)
class Merge:
    """One learned merge: the pair, how often it stood there, and the word counts that add up to that."""

    pair: Pair
    count: int
    terms: tuple[int, ...]

    @property
    def symbol(self) -> str:
        """The new symbol."""
        return "".join(self.pair)


def train(words: Words, merges: int, tie_break: str) -> list[Merge]:
    """Up to `merges` merges, the most frequent pair each time."""
    learned = []
    for _ in range(merges):
        counted = _pairs(words)
        if not counted:
            break
        pair = _best(counted, tie_break)
        terms = tuple(n * times for n, times in counted[pair])
        learned.append(Merge(pair, sum(terms), terms))
        words = _joined(words, pair)
    return learned


def _joined(words: Words, pair: Pair) -> Words:
    joined: Words = defaultdict(int)
    for symbols, count in words.items():
        joined[merge(symbols, pair)] += count
    return dict(joined)


def _pairs(words: Words) -> dict[Pair, list[tuple[int, int]]]:
    """For every pair in order of first sight: (word count, times in the word) of each word that has it."""
    found: dict[Pair, list[tuple[int, int]]] = {}
    for symbols, count in words.items():
        times: dict[Pair, int] = defaultdict(int)
        for pair in pairwise(symbols):
            times[pair] += 1
        for pair, n in times.items():
            found.setdefault(pair, []).append((count, n))
    return found


def _best(counted: dict[Pair, list[tuple[int, int]]], tie_break: str) -> Pair:
    totals = {pair: sum(n * t for n, t in rows) for pair, rows in counted.items()}
    highest = max(totals.values())
    tied = [pair for pair, total in totals.items() if total == highest]
    return min(tied) if tie_break == "alphabetical" else tied[0]


def merge(symbols: tuple[str, ...], pair: Pair) -> tuple[str, ...]:
    """The symbols with every occurrence of `pair` joined, left to right."""
    out: list[str] = []
    i = 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return tuple(out)


def encode(word: str, learned: list[Merge], end: bool) -> tuple[str, ...]:
    """A new word in the learned symbols: merges are applied in the order they were learned."""
    symbols = _split(word, end)
    for one in learned:
        symbols = merge(symbols, one.pair)
    return symbols


def _split(word: str, end: bool) -> tuple[str, ...]:
    return (*word, END) if end else tuple(word)


def bpe(inputs: BpeInputs) -> Result:
    """Merges and encodings. Raises InputErrors for a list that can't be read."""
    words = _words(inputs)
    learned = train(words, inputs.merges, inputs.tie_break)
    asked = inputs.encode.split()
    coded = {word: encode(word, learned, inputs.end_of_word) for word in dict.fromkeys(asked)}
    alphabet = {symbol for symbols in words for symbol in symbols}
    tokens = sum(len(coded[word]) for word in asked)
    working = _working(learned, len(alphabet))
    results: dict[str, Value] = {
        "merges": len(learned),
        "vocabulary_size": int(working.names["vocabulary_size"]),
        "tokens": tokens,
        "characters": sum(len(w) for w in asked),
        "corpus_tokens_before": sum(len(s) * n for s, n in words.items()),
        "corpus_tokens": sum(len(encode_symbols(s, learned)) * n for s, n in words.items()),
    }
    if learned:
        results["first_merge_count"] = learned[0].count
    shown = " · ".join(coded[asked[0]]) if asked else "nothing to encode"
    return Result(
        headline=Headline(
            visible(shown, 60),
            "",
            f"{tokens} tokens",
            f"{len(learned)} merges, {results['vocabulary_size']} symbols",
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(inputs, learned, alphabet, asked),
        charts=(_counts(learned, words),),
        tables=(_merge_table(learned, words), _encoded(coded)),
        program=program("BPE: size of the vocabulary", working, "vocabulary_size"),
    )


def encode_symbols(symbols: tuple[str, ...], learned: list[Merge]) -> tuple[str, ...]:
    """Symbols of the corpus after every merge."""
    for one in learned:
        symbols = merge(symbols, one.pair)
    return symbols


def _words(inputs: BpeInputs) -> Words:
    words: Words = {}
    for word, count in named_numbers("words", inputs.words, most=MOST_WORDS):
        if not (count.is_integer() and 1 <= count <= 10**9):
            raise refuse("words", f"“{visible(word)}” needs a whole count from 1 to 1 000 000 000")
        words[_split(word, inputs.end_of_word)] = int(count)
    return words


def _working(learned: list[Merge], alphabet: int) -> Working:
    working = Working()
    for i, one in enumerate(learned[:12]):
        code = " + ".join(map(str, one.terms)) if len(one.terms) > 1 else f"{one.terms[0]} * 1"
        first, second = visible(one.pair[0], 16), visible(one.pair[1], 16)
        working.step(
            f"merge_{i + 1}", f"Merge {i + 1}: {first} + {second} → {visible(one.symbol, 24)}", code, "times"
        )
    working.given(characters=alphabet, merges=len(learned))
    working.step(
        "vocabulary_size", "Symbols: characters and one for each merge", "characters + merges", "symbols"
    )
    return working


def _warnings(
    inputs: BpeInputs, learned: list[Merge], alphabet: set[str], asked: list[str]
) -> tuple[str, ...]:
    said = []
    if len(learned) < inputs.merges:
        said.append(f"After {len(learned)} merges every word is one symbol; there is nothing left to merge.")
    unseen = {c for word in asked for c in word} - alphabet
    if unseen:
        said.append(
            f"Never seen in training: {visible(' '.join(sorted(unseen)))}. Byte-level BPE has no such gap: it starts from 256 bytes."
        )
    if len(learned) > 12:
        said.append("The working shows the first twelve merges; all of them are in the table.")
    said.append("Encoding applies merges in the order they were learned, not the longest match first.")
    return tuple(said)


def _counts(learned: list[Merge], words: Words) -> Chart:
    shown = learned[:16]
    points = tuple((float(i), float(m.count)) for i, m in enumerate(shown))
    labels = tuple(f"{visible(m.pair[0], 16)} + {visible(m.pair[1], 16)}" for m in shown)
    if not shown:
        points, labels = ((0.0, float(sum(words.values()))),), ("words in the corpus",)
    return Chart(
        "bars",
        "How often each merged pair stood there",
        "merge",
        "times",
        (Series("times", points),),
        "times",
        labels=labels,
    )


def _merge_table(learned: list[Merge], words: Words) -> Table:
    rows = []
    for i, one in enumerate(learned):
        words = _joined(words, one.pair)
        left = sum(len(s) * n for s, n in words.items())
        rows.append((i + 1, visible(one.pair[0], 24), visible(one.pair[1], 24), one.count, left))
    return Table(
        "Merges in the order they were learned",
        ("merge", "left", "right", "times", "corpus tokens after"),
        tuple(rows),
    )


def _encoded(coded: dict[str, tuple[str, ...]]) -> Table:
    rows = tuple(
        (visible(word), " · ".join(map(visible, symbols)), len(symbols)) for word, symbols in coded.items()
    )
    return Table("Encoded", ("word", "symbols", "tokens"), rows)


CALCULATOR = Calculator(
    slug="bpe",
    title="BPE trainer",
    summary="Learn merges from word counts step by step, and encode words nobody has seen.",
    inputs=BpeInputs,
    compute=bpe,
    formula="characters + merges",
    formula_name="vocabulary",
    meaning=(
        "A tokenizer starts from characters or bytes and repeatedly joins the pair that stands together most often. "
        "Frequent words end up as one token, rare ones as familiar pieces, and nothing is unknown. The model sees those "
        "pieces, not letters, which is why counting letters is hard for it."
    ),
    usual_mistake=(
        "Encoding by the longest match in the vocabulary. BPE applies merges in the order they were learned, and the "
        "result can differ. Another is forgetting that counts are weighted by how often a word occurs."
    ),
    sources=("Sennrich, Haddow, Birch: arXiv 1508.07909",),
    presets=(
        Preset("play, day, plan and replay", "merges=4&encode=replay"),
        Preset("hug, pug, pun", "words=hug 10, pug 5, pun 12, bun 4, hugs 5&merges=3&encode=hugs bug"),
        Preset("with an end-of-word mark", "merges=8&encode=play plays replays&end_of_word=1"),
    ),
)
