"""Denials that reach other sentences: "… That is wrong.", "… None of this is true.", "The following is false: …"."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.denials import FRAME, SENTENCE_ENDS, frames, is_odd, refers_back
from engine.lexicon import AUXILIARIES
from engine.polarity import Scope
from engine.stems import word_set

if TYPE_CHECKING:
    from engine.clauses import Clause, Token

    Parsed = list[tuple[Clause, list[Token]]]

_FALSE = (
    r"(?:false|wrong|incorrect|untrue|inaccurate|nonsense|rubbish|made up|invented|lies?|a lie|myths?|a myth|"
    r"misconceptions?|fiction|not true|not correct|not right|not so|not the case)"
)
_TRUE = r"(?:true|correct|right|accurate|so|the case)"
_BE = r"(?:is|are|was|were|isn't|aren't)(?: (?:actually|really|simply|plainly|just|all|completely|entirely|quite|of course))*"
_IT = (
    r"(?:it|this|that|these|those|them|which|the above|everything above|all the above|what i (?:just )?(?:said|wrote)|"
    r"i (?:just )?(?:said|wrote)|the foregoing)(?: (?:statements|claims|points|sentences|answer|text))?"
)
# What denies everything said before it.
ALL_BEFORE = re.compile(
    rf"(?:but |and |however |of course |sadly |in fact |in reality |actually |needless to say )*(?:"
    rf"(?:none|nothing|no part|not a word|not one word|not a single word|hardly any|little) of {_IT} "
    rf"(?:(?:{_BE} )?{_TRUE}|holds?|applies|apply)(?: at all)?"
    rf"|(?:all|everything|every word|every bit|each)(?: of)? (?:{_IT} )?{_BE} {_FALSE}"
    rf"|(?:the above|these|those|the foregoing|these statements|those statements|everything above) {_BE} {_FALSE}"
    rf"|(?:this|that|it) (?:is|was)(?: (?:just|simply))? all(?: (?:just|simply|completely))? {_FALSE}"
    rf"|(?:quite |exactly |precisely |just )?(?:the )?(?:very |exact )?(?:opposite|reverse|contrary|converse)"
    rf"(?: (?:is|was)(?: actually| in fact)? (?:true|the case|correct|right|what happens)| holds| applies)?"
    rf"|(?:it|it is|it's|this is|that's|things are)(?: is)?(?: (?:exactly|just|really))? "
    rf"(?:the other way (?:round|around|about)|the opposite|the reverse)"
    rf"|(?:oh |yeah )(?:right|sure)|as if|dream on|and pigs (?:can |will |might )?fly|(?:just |only |i'm |i am )*(?:kidding|joking)|i (?:just )?made (?:all )?(?:of )?{_IT} up|ignore (?:all )?(?:of )?{_IT}"
    rf"|(?:as )?said (?:nobody|no one|noone)(?: ever)?"
    rf")"
)
# What takes back the statement before it.
TAKEN_BACK = re.compile(
    r"(?:actually |oh |no |sorry |well |hmm |and )*(?:(?:scrap|strike|forget|disregard|delete) (?:that|this|it|what i said)|"
    r"no wait|wait no|wait|i take (?:that|it|this) back|i was wrong|correction)"
)
# Somebody else's statement: a denial after it is of that alone.
ATTRIBUTED = re.compile(
    r"^(?:some|many|most|several|other|others|people|critics|beginners|one|you|someone|they|it is (?:often|sometimes)|"
    r"it's (?:often|sometimes)|a (?:common|popular|frequent)|the (?:common|popular|usual))\b.{0,40}?"
    r"\b(?:say|says|said|think|thinks|thought|believe|believes|believed|claim|claims|claimed|assume|assumes|assumed|argue|"
    r"argues|expect|expects|hear|hears|read|reads|view|belief|idea|assumption|misconception)\b"
)
POINTING_ON = word_set("following below")
LABELS = word_set("myth myths misconception fallacy untruth")
FALSE_LABELS = word_set("false wrong untrue incorrect nonsense")
PRONOUNS = word_set("it it's that that's this which there no")
LONGEST_LABEL = 4
SHORT = 2  # words before a turn that state nothing
# Where a denial that was carried on ends: what follows is the learner's own statement again.
BACK = word_set(
    "but however instead actually fact truth reality really yet nevertheless rather correct correctly right"
)
NOT_BACK = {
    "rather": ("than",),
    "instead": ("of",),
    "right": ("after", "before"),
    "fact": ("that", "checking"),
}


def spread(parsed: Parsed, carry: bool = False) -> Parsed:
    """Sentences with the denials that other sentences say of them; `carry` reads an opening denial on to the end."""
    out = list(parsed)
    for i in range(len(parsed)):
        texts = [token for token, _, _ in parsed[i][1]]
        if i and refers_back(texts):
            _deny(out, i - 1)
        elif (at := _said_before(texts, ALL_BEFORE)) is not None:
            _deny_before(out, i, at)
        elif (at := _said_before(texts, TAKEN_BACK)) is not None:
            if _count(texts[:at]) > SHORT:
                _deny(out, i, until=_count(texts[:at]))
            elif i:
                _deny(out, i - 1)
        if (end := label_end(texts, i == 0)) is not None:
            _deny(out, i, start=_count(texts[:end]))
        if announces(texts) or (carry and i == 0 and opens_denied(texts)):
            _deny_after(out, i)
        elif i + 1 < len(out) and _unfinished(parsed[i][0]):
            _deny(out, i + 1)
    return out


def opens_denied(texts: Sequence[str]) -> bool:
    """True when an answer begins by denying: "It is not true that …", "Well, nobody believes that …"."""
    if label_end(texts, True) is not None:
        return True
    first = next((denial for denial in frames(texts) if denial.start <= LONGEST_LABEL), None)
    return first is not None and first.odd and (first.start == 0 or "," in texts[: first.start])


def announces(texts: Sequence[str]) -> bool:
    """True for "The following is false:" and "I disagree with everything below.": a denial of all that comes next."""
    end = next((i for i, text in enumerate(texts) if text in SENTENCE_ENDS or text == ":"), len(texts))
    words = [text for text in texts[:end] if text[0].isalnum()]
    if not words or not any(word in POINTING_ON for word in words):
        return False
    return all(word in FRAME or word in POINTING_ON for word in words) and is_odd(words)


def label_end(texts: Sequence[str], opening: bool) -> int | None:
    """Where a label that denies what it stands before ends ("Myth: …"), or None; plain "False:" only as an `opening`."""
    end = next((i for i, text in enumerate(texts[: LONGEST_LABEL + 1]) if text == ":"), None)
    if (
        not end
        or texts[0] in PRONOUNS
        or not all(text in FRAME and text not in AUXILIARIES for text in texts[:end])
    ):
        return None
    if texts[end - 1] in LABELS:
        return end + 1
    sets_right = any(text in PRONOUNS for text in texts[end + 1 : end + 2])  # "Wrong: it grows linearly."
    false = opening and texts[end - 1] in FALSE_LABELS and is_odd(texts[:end])
    return end + 1 if false and not sets_right else None


def _said_before(texts: Sequence[str], denial: re.Pattern[str]) -> int | None:
    """The token at which words begin that deny what was said before them, or None: they fill all between two marks."""
    marks = [i for i, text in enumerate(texts) if not text[0].isalnum()]
    edges = [0, *marks, len(texts)]
    for start, end in reversed(list(itertools.pairwise(edges))):
        if denial.fullmatch(_words(texts[start:end])) or denial.fullmatch(_words(texts[start:])):
            return start
    return None


def _count(texts: Sequence[str]) -> int:
    return sum(text[0].isalnum() for text in texts)


def _words(texts: Sequence[str]) -> str:
    return " ".join(text for text in texts if text[0].isalnum())


def _deny_before(out: Parsed, i: int, at: int) -> None:
    """Denies the part of a sentence before token `at` and the sentences before it, or the one that is somebody else's."""
    if at:
        _deny(out, i, until=_count([text for text, _, _ in out[i][1][:at]]))
        if ATTRIBUTED.match(_words([text for text, _, _ in out[i][1]])):
            return
    for j in reversed(range(i)):
        _deny(out, j)
        if ATTRIBUTED.match(_words([text for text, _, _ in out[j][1]])):
            return


def _deny_after(out: Parsed, i: int) -> None:
    """Denies all of the i-th sentence that follows its denial, and the next ones, up to a word that turns back."""
    for j in range(i, len(out)):
        whole, tokens = out[j]
        texts = [text for text, _, _ in tokens]
        mine = next((k for k, scope in enumerate(whole.scopes) if scope.whole), None) if j == i else None
        start = 0 if mine is None else whole.scopes[mine].start
        backs = (k for k in range(len(texts)) if _turns_back(texts, k) and _count(texts[:k]) >= start)
        back = next(backs, None)
        until = len(whole.words) if back is None else _count(texts[:back])
        if mine is not None:
            scopes = [
                replace(s, end=max(s.end, until)) if k == mine else s for k, s in enumerate(whole.scopes)
            ]
            out[j] = replace(whole, scopes=tuple(scopes)), tokens
        elif j > i and until > (SHORT if back is not None else 0):
            _deny(out, j, until=until)
        if back is not None:
            return


def _turns_back(texts: Sequence[str], k: int) -> bool:
    if texts[k] not in BACK or (k + 1 < len(texts) and texts[k + 1] in NOT_BACK.get(texts[k], ())):
        return False
    return texts[k] in ("but", "however", "instead") or k <= 2 or not texts[k - 1][0].isalnum()


def _deny(out: Parsed, i: int, start: int = 0, until: int | None = None) -> None:
    """Adds a denial to a sentence, unless it is denied as a whole already: "It is a myth that X. That is wrong."."""
    whole, tokens = out[i]
    end = len(whole.words) if until is None else until
    if end > start and not any(scope.whole for scope in whole.scopes):
        out[i] = replace(whole, scopes=(*whole.scopes, Scope(start, end, True))), tokens


def _unfinished(whole: Clause) -> bool:
    """True when a denial has nothing or a bare "yes" to deny; "it is not true that yes" goes on in the next sentence."""
    return any(
        scope.whole and scope.end == len(whole.words) and scope.end - scope.start <= 2 and scope.start > 0
        for scope in whole.scopes
    )
