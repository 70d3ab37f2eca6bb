"""Denials of whole statements: "it is a myth that …", "nobody would deny that …", "…, which is false"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.stems import word_set

# Words that turn a frame round; two of them cancel out ("it isn't false that", "no doubt that").
TURNING = word_set(
    "not no never nobody none neither nothing hardly scarcely barely few isn't aren't wasn't don't doesn't didn't "
    "wouldn't couldn't shouldn't can't cannot won't isnt dont doesnt cant false wrong incorrect untrue inaccurate "
    "mistaken mistake error myth misconception fallacy lie nonsense rubbish illusion legend deny denies denied doubt "
    "doubts dispute disputes disagree disagrees reject rejects refuse refuses contrary wrongly falsely mistakenly "
    "incorrectly untruth impossible absurd"
)
SAYING = word_set(
    "say says said saying claim claims claimed think thinks thought believe believes believed assume assumes assumed "
    "argue argues suppose conclude state states maintain imagine expect accept pretend doubt doubts deny denies denied "
    "dispute disputes mean means imply implies"
)
TRUTH = word_set(
    "true truth false wrong incorrect untrue inaccurate mistaken mistake error myth misconception fallacy lie nonsense "
    "rubbish illusion legend case fact right correct accurate evidence reason proof basis belief idea notion view "
    "contrary follow follows doubt disagree disagrees reject rejects agree impossible absurd untruth"
)
AROUND = word_set(
    "it it's is was be been being that that's this which there there's here i we you they he she people person many "
    "most some everyone everybody anyone anybody one who do does did would could can should will might may to a an the "
    "any my our simply just plainly completely quite really totally clearly at all by means further far from with of "
    "about popular common widespread frequent usual what in as such so ever how have has had i'm you're must"
)
FRAME = TURNING | SAYING | TRUTH | AROUND
HEADS = SAYING | TRUTH
OPENERS = frozenset(",;:()[]—-\n") | word_set("but and because so since however yet although though")
SENTENCE_ENDS = frozenset(".!?\n")
REFERRING = word_set("that that's this which it it's but no not wrong false incorrect untrue nonsense")
CURT = word_set("no not nope wrong false incorrect untrue nonsense never")
LONGEST_CURT = 2
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
        end = _frame_end(tokens, at) if opens and tokens[at] in FRAME else None
        if end is None:
            at += 1
            continue
        yield Denial(at, end, end, until(tokens, end), _odd(tokens[at:end]))
        at = end


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
    return _odd(words) and (curt or judged)


def _frame_end(tokens: Sequence[str], start: int) -> int | None:
    """Where the frame ends that opens at `start`: after "that", or after a verb of saying; None without one."""
    run = start
    while run < len(tokens) and tokens[run] in FRAME:
        run += 1
    heads = [i for i in range(start, run) if tokens[i] in HEADS]
    if not heads or run == len(tokens):
        return None
    that = next((i for i in range(heads[0] + 1, run) if tokens[i] == "that"), None)
    if that is not None:
        later = [i for i in range(that + 1, run) if tokens[i] == "that" and tokens[i - 1] in HEADS]
        return (later[-1] if later else that) + 1
    denies = any(token in TURNING for token in tokens[start:run])
    if denies and tokens[heads[-1]] in SAYING and tokens[run][0].isalnum():
        return heads[-1] + 1
    return None


def until(tokens: Sequence[str], start: int) -> int:
    """The end of what a frame speaks of."""
    for j in range(start, len(tokens)):
        if tokens[j] in ".!?;\n" or tokens[j] in ("but", "instead", "rather"):
            return j
        if tokens[j] in (",", ":") and j >= start + 2:
            return j
    return len(tokens)


def _odd(tokens: Sequence[str]) -> bool:
    return sum(token in TURNING for token in tokens) % 2 == 1
