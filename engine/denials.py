"""Denials of whole statements: "it is a myth that …", "nobody would deny that …", "…, which is false"."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.lexicon import AUXILIARIES, VERBS
from engine.stems import stem, word_set

# Words that turn a frame round; two of them cancel out ("it isn't false that", "no doubt that").
TURNING = word_set(
    "not no never nobody none neither nothing hardly scarcely barely few isn't aren't wasn't don't doesn't didn't "
    "wouldn't couldn't shouldn't can't cannot won't isnt dont doesnt cant false wrong incorrect untrue inaccurate "
    "mistaken mistake error myth misconception fallacy lie nonsense rubbish illusion legend deny denies denied doubt "
    "doubts dispute disputes disagree disagrees reject rejects refuse refuses contrary wrongly falsely mistakenly "
    "incorrectly untruth impossible absurd denying disproved disproven refuted debunked ridiculous silly foolish "
    "laughable unreasonable unlikely doubtful question fool fools idiot idiots naive naively erroneously beginners novices "
    "laymen"
)
SAYING = word_set(
    "say says said saying claim claims claimed think thinks thought believe believes believed assume assumes assumed "
    "argue argues suppose conclude state states maintain imagine expect accept pretend doubt doubts deny denies denied "
    "dispute disputes mean means imply implies denying"
)
TRUTH = word_set(
    "true truth false wrong incorrect untrue inaccurate mistaken mistake error myth misconception fallacy lie nonsense "
    "rubbish illusion legend case fact right correct accurate evidence reason proof basis belief idea notion view "
    "contrary follow follows doubt disagree disagrees reject rejects agree impossible absurd untruth disproved "
    "disproven refuted debunked ridiculous silly foolish laughable unreasonable unlikely doubtful question"
)
# What follows these is taken for granted, whether they are denied or not ("don't forget that", "it is no secret that").
GRANTING = word_set(
    "forget forgets forgot forgetting overlook overlooks ignore ignores realise realises realize realizes surprise "
    "surprising surprised secret accident coincidence wonder"
)
AROUND = word_set(
    "it it's is was be been being that that's this which there there's here i we you they he she people person many "
    "most some everyone everybody anyone anybody one who do does did would could can should will might may to a an the "
    "any my our simply just plainly completely quite really totally clearly at all by means further far from with of "
    "about popular common widespread frequent usual what in as such so ever how have has had i'm you're must "
    "seem seems sounds looks definitely absolutely certainly obviously utterly entirely wholly demonstrably hard "
    "difficult important following statement assertion claim only i'd we'd you'd everything below please"
)
FRAME = TURNING | SAYING | TRUTH | AROUND | GRANTING
HEADS = SAYING | TRUTH | GRANTING
# "It is hard to deny that" affirms as "it can't be denied that" does.
HARDLY = word_set("hard difficult")
# "Contrary to popular belief" affirms what comes next, "contrary to the truth" denies it.
AGAINST_TRUTH = re.compile(
    r"(?:contrary to|against|in defiance of|despite|in spite of) (?:all |the |what is |the plain |the known |all the )*"
    r"(?:truth|facts?|reality|evidence|true|right|correct|what's true|what is true)"
)
OPENERS = frozenset(",;:()[]—-\n") | word_set("but and because so since however yet although though")
SENTENCE_ENDS = frozenset(".!?\n")
REFERRING = word_set("that that's this which it it's but no not wrong false incorrect untrue nonsense")
CURT = word_set("no not nope wrong false incorrect untrue nonsense never")
LONGEST_CURT = 2
LONGEST_AGAINST = 8
SUBORDINATE = word_set("if when while because since as although once unless after before whenever")
RELATIVE = word_set("which who whose where")
# With these another statement begins after a comma.
ANEW = word_set("it they this that these those he she we you i there not no so because")
# "The claim that X is false", "X growing is a myth": a denial of what came before.
BACKWARD = re.compile(
    r"^(?:(?:(?:the|this|a|any) )?"
    r"(?:claim|idea|statement|belief|notion|assertion|assumption|view|that|saying|to say)\b.*?"
    r"\b(?:is|'s|would be) (?:simply |just |plainly |completely |quite )?"
    r"(?:false|wrong|incorrect|untrue|inaccurate|nonsense|mistaken|not true|not correct|not right|"
    r"(?:a )?(?:common |popular |widespread )?(?:myth|misconception|fallacy|lie))"
    r"|.*\w\w+ing\b.* (?:is|are) (?:simply |just |plainly )?(?:false|untrue|nonsense|not true)"
    r"|.* (?:is|are) (?:simply |just |only |plainly )?(?:nonsense|untrue|"
    r"a (?:common |popular |widespread )?(?:myth|misconception|fallacy|lie|legend)))$"
)


@dataclass(frozen=True, slots=True)
class Denial:
    """The tokens [start, end) of the phrase itself and those [over, until) of what it speaks of; `odd` denies it."""

    start: int
    end: int
    over: int
    until: int
    odd: bool


def frames(tokens: Sequence[str]) -> Iterator[Denial]:
    """Phrases before a statement that say whether it holds, from the start of a sentence or of a clause."""
    at = 0
    while at < len(tokens):
        opens = at == 0 or tokens[at - 1] in OPENERS
        mocks = at == 0 and _mocks(tokens)
        against = (2 if mocks else _against_truth(tokens, at)) if opens else None
        end = against or (_frame_end(tokens, at) if opens and tokens[at] in FRAME else None)
        if end is None:
            at += 1
            continue
        yield Denial(at, end, end, until(tokens, end), against is not None or is_odd(tokens[at:end]))
        at = end


def _mocks(tokens: Sequence[str]) -> bool:
    """ "As if the cache grew!" says that it doesn't."""
    return tuple(tokens[:2]) in (("as", "if"), ("as", "though")) and len(tokens) > 3 and "," not in tokens


def _against_truth(tokens: Sequence[str], at: int) -> int | None:
    """The end of "contrary to the truth,", or None."""
    comma = next((i for i in range(at, min(len(tokens), at + LONGEST_AGAINST)) if tokens[i] == ","), None)
    found = comma is not None and AGAINST_TRUTH.fullmatch(" ".join(tokens[at:comma]))
    return comma + 1 if comma is not None and found else None


def trailing(tokens: Sequence[str]) -> Denial | None:
    """A denial at the end of a sentence of what came before in it: "…, which is false"."""
    last = len(tokens)
    while last and tokens[last - 1] in SENTENCE_ENDS:
        last -= 1
    at = next((i for i in reversed(range(1, last)) if tokens[i] in OPENERS and not tokens[i].isalpha()), None)
    if at is not None and refers_back(tokens[at + 1 : last]):
        return Denial(at, last, 0, at, True)
    words = [token for token in tokens if token not in SENTENCE_ENDS]
    if BACKWARD.match(" ".join(words)):
        return Denial(max(0, last - 5), last, 0, last, True)
    return None


def refers_back(tokens: Sequence[str]) -> bool:
    """True for words that only deny what was said before: "which is false", "That isn't true.", "Not!"."""
    words = [token for token in tokens if token not in SENTENCE_ENDS and token[0].isalnum()]
    if not words or words[0] not in REFERRING or not all(word in FRAME for word in words):
        return False
    curt = len(words) <= LONGEST_CURT and all(word in CURT for word in words)
    judged = any(word in TRUTH for word in words) and words[0] in AROUND | {"but"} and words[-1] != "that"
    return is_odd(words) and (curt or judged)


def _frame_end(tokens: Sequence[str], start: int) -> int | None:
    """Where the frame ends that opens at `start`: after "that", or after a verb of saying; None without one."""
    run = start
    while run < len(tokens) and tokens[run] in FRAME:
        run += 1
    heads = [i for i in range(start, run) if tokens[i] in HEADS]
    if not heads or run == len(tokens):
        return None
    if tokens[run] == ":" and "following" in tokens[start:run]:
        return run + 1
    that = next((i for i in range(heads[0] + 1, run) if tokens[i] == "that"), None)
    if that is not None:
        later = [i for i in range(that + 1, run) if tokens[i] == "that" and tokens[i - 1] in HEADS]
        return (later[-1] if later else that) + 1
    denies = any(token in TURNING for token in tokens[start:run])
    if denies and tokens[heads[-1]] in SAYING and tokens[run][0].isalnum():
        return heads[-1] + 1
    return None


def until(tokens: Sequence[str], start: int) -> int:
    """The end of what a frame speaks of: a comma ends it only where a statement ends and another begins."""
    leading = start < len(tokens) and tokens[start] in SUBORDINATE
    relative = False
    for j in range(start, len(tokens)):
        token, following = tokens[j], tokens[j + 1] if j + 1 < len(tokens) else ""
        if token in ".!?;\n" or token == "but":
            return j
        if token in ("instead", "rather") and following not in ("of", "than"):
            return j
        if token not in (",", ":") or j < start + 2:
            continue
        if leading or relative or following in RELATIVE:
            # The comma after "if …", and the two around "which …", stand within the statement.
            leading, relative = False, following in RELATIVE
        elif _goes_on(tokens, start, j):
            continue
        else:
            return j
    return len(tokens)


def _goes_on(tokens: Sequence[str], start: int, comma: int) -> bool:
    """True for a comma of a list or of a phrase before the verb ("terminals 1, 2 and 3 are …")."""
    following = tokens[comma + 1 : comma + 2]
    if not following or following[0] in ANEW:
        return False
    return not any(_says(token) for token in tokens[start:comma])


def _says(token: str) -> bool:
    """True for a word that can only be the verb of a statement; "cache" and "cost" may be its subject."""
    return token in AUXILIARIES or (token.endswith(("s", "ed")) and stem(token) in VERBS)


def is_odd(tokens: Sequence[str]) -> bool:
    """True when the words deny what they speak of: an odd number of turns, and nothing taken for granted."""
    if any(token in GRANTING for token in tokens):
        return False
    turns = sum(token in TURNING or token in HARDLY for token in tokens)
    turns += sum(pair == ("far", "from") for pair in itertools.pairwise(tokens))
    return turns % 2 == 1
