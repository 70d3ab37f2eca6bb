"""Word stems and typo distance, enough to match inflected and misspelt English words."""

from __future__ import annotations

from functools import lru_cache

IRREGULAR = {
    word: stem
    for stem, words in {
        "grow": "grew grown growth grows growing",
        "rise": "rose risen rises rising",
        "fall": "fell fallen falls falling",
        "keep": "kept keeps",
        "hold": "held holds",
        "make": "made makes making",
        "take": "took taken takes taking",
        "give": "gave given gives giving",
        "go": "went gone goes going",
        "get": "got gotten gets getting",
        "see": "saw seen sees seeing",
        "know": "knew known knows",
        "write": "wrote written writes writing",
        "read": "reads reading",
        "think": "thought thinks",
        "send": "sent sends",
        "spend": "spent spends",
        "lose": "lost loses losing loss losses",
        "choose": "chose chosen chooses choosing choice choices",
        "pick": "picks picked picking",
        "run": "ran runs running",
        "break": "broke broken breaks breaking",
        "burn": "burnt burned burns burning",
        "light": "lit lights lighted lighting",
        "learn": "learnt learned learns",
        "mean": "meant means",
        "say": "said says",
        "be": "is are was were been being am 's",
        "have": "has had having",
        "do": "does did done doing",
        "child": "children",
        "person": "people persons",
        "index": "indices indexes",
        "datum": "data",
        "vertex": "vertices",
        "matrix": "matrices",
        "more": "bigger greater higher larger",
        "long": "longer longest length lengths lengthy",
        "strong": "strength stronger",
        "wide": "width wider",
        "deep": "depth deeper",
        "high": "height highest",
        "hot": "heat hotter",
        "proof": "prove proves proved proven",
        "multiply": "multiplies multiplied multiplication multiplying multiplicative",
        "vary": "varies varied variety variation varying various",
        "apply": "applies applied application applying",
        "determin": "deterministic determinism deterministically",
        "probab": "probability probabilities probable probably probabilistic",
        "quadrat": "quadratic quadratically",
        "respons": "response responses",
        "attention": "attends attend attended attending attentive",
        "memor": "memory memories memorise memorize",
        "decode": "decoding decoder decoders decoded decodes",
        "encode": "encoding encoder encoders encoded encodes",
        "cache": "caching cached caches",
        "size": "sizes sized sizing",
        "freeze": "froze frozen freezes",
        "bias": "bias biases biased",
        "gas": "gas gases",
    }.items()
    for word in words.split()
}
SUFFIXES = (
    ("ational", "at"),
    ("ization", "iz"),
    ("isation", "iz"),
    ("fulness", "ful"),
    ("iveness", "iv"),
    ("ically", "ic"),
    ("ations", "at"),
    ("ation", "at"),
    ("ically", "ic"),
    ("ising", "iz"),
    ("izing", "iz"),
    ("ised", "iz"),
    ("ized", "iz"),
    ("ises", "iz"),
    ("izes", "iz"),
    ("ments", ""),
    ("ingly", ""),
    ("ment", ""),
    ("ness", ""),
    ("ions", ""),
    ("ably", "abl"),
    ("able", "abl"),
    ("ical", "ic"),
    ("ally", ""),
    ("ise", "iz"),
    ("ize", "iz"),
    ("ies", "y"),
    ("ied", "y"),
    ("ing", ""),
    ("ion", ""),
    ("ity", ""),
    ("ive", ""),
    ("ous", ""),
    ("est", ""),
    ("ed", ""),
    ("es", ""),
    ("ly", ""),
    ("al", ""),
    ("er", ""),
    ("or", ""),
    ("s", ""),
    ("e", ""),
)


def word_set(text: str) -> frozenset[str]:
    """The words of a line as a set."""
    return frozenset(text.split())


VOWELS = set("aeiouy")
KEEP_FINAL_S = ("ss", "us", "is", "os")
SHORTEST = 3


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a lower-case word; inflected and most derived forms share it."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) <= SHORTEST or not word.isalpha():
        return word
    once = _strip(word)
    return IRREGULAR.get(once, _strip(once) if once != word and len(once) > SHORTEST + 1 else once)


def _strip(word: str) -> str:
    for suffix, put in SUFFIXES:
        if not word.endswith(suffix) or (suffix == "s" and word.endswith(KEEP_FINAL_S)):
            continue
        base = word[: -len(suffix)]
        if len(base) < SHORTEST or not VOWELS & set(base):
            continue
        return _undouble(base) + put if not put else base + put
    return word


def _undouble(base: str) -> str:
    doubled = len(base) > SHORTEST and base[-1] == base[-2] and base[-1] not in "aeiouls"
    return base[:-1] if doubled else base


def typo_budget(word: str) -> int:
    """How many edits a word of this length may be away and still be a slip of the fingers."""
    if len(word) < 5:
        return 0
    return 1 if len(word) < 9 else 2


@lru_cache(maxsize=262144)
def near(a: str, b: str) -> bool:
    """True when two words differ by a slip of the fingers (same first letter, few edits)."""
    budget = min(typo_budget(a), typo_budget(b))
    if not budget or a[0] != b[0] or abs(len(a) - len(b)) > budget:
        return False
    return edits(a, b, budget) <= budget


def edits(a: str, b: str, limit: int) -> int:
    """Edit distance with neighbouring swaps counted once; stops above `limit`."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before, last = last, row
    return last[-1]
