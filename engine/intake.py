"""What is settled before any point is looked at: empty, too long, another language, copied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.alignment import Known
from engine.clauses import TOKEN, sentences
from engine.language import not_english
from engine.normalise import Normalised, normalise
from engine.stems import stem
from engine.units import Unit, only_question_words, units
from engine.verdict import Label

MAX_WORDS = 2000
MAX_CHARACTERS = 20_000
NON_ANSWERS = re.compile(
    r"(?:idk|i (?:do not|don't|dont) know(?: (?:the answer|this|that|it|yet|anything about "
    r"(?:it|this)))?|dunno|no idea|"
    r"no (?:response|answer|submission|clue|comment)|empty submission|none|nothing|n "
    r"a|na|null|nil|pass|skip|not sure|"
    r"i have no idea|i am not sure|i'm not sure|unsure|no se|can't answer|cannot "
    r"answer|tbd|todo|test|x+|asdf\w*|lorem ipsum.*|"
    r"sorry(?: i (?:do not|don't|dont) know)?)"
)
MOSTLY = 0.6
QUOTATION = re.compile(r'"[^"\n]{15,300}"')


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an answer gets its verdict without being matched."""

    verdict: Label
    why: str


@dataclass(frozen=True, slots=True)
class Intake:
    """An answer ready for matching: text with offsets, pieces, flags, and a refusal if there is one."""

    normalised: Normalised
    pieces: tuple[Unit, ...]
    flags: tuple[str, ...]
    refusal: Refusal | None


def intake(question: str, answer: str, references: Sequence[str], known: Known) -> Intake:
    """Look at an answer before matching; the whole answer is refused, never cut, above the limits."""
    words = len(answer.split())
    if words > MAX_WORDS or len(answer) > MAX_CHARACTERS:
        why = (
            f"The answer has {words} words and {len(answer)} characters; "
            f"up to {MAX_WORDS} words and {MAX_CHARACTERS} characters are assessed."
        )
        return Intake(normalise(""), (), ("too_long",), Refusal("not_assessed", why))
    normalised = normalise(answer)
    bare = bare_words(normalised.text)
    if not bare or NON_ANSWERS.fullmatch(" ".join(bare)):
        return Intake(normalised, (), ("empty",), Refusal("incorrect", "There is no answer to assess."))
    if not_english(normalised.text, known):
        why = "The answer isn't in English, which is the only language that this grader assesses."
        return Intake(normalised, (), ("language",), Refusal("not_assessed", why))
    return _matched(question, normalised, bare, references)


def _matched(question: str, normalised: Normalised, bare: list[str], references: Sequence[str]) -> Intake:
    flags = []
    if any(bare == bare_words(normalise(reference).text) for reference in references):
        flags.append("identical_to_reference")
    pieces = units(_without_quotations(normalised.text))
    asked = frozenset(stem(word) for word in bare_words(normalise(question).text))
    echoes = set(only_question_words(pieces, asked))
    if _mostly_echo(normalised.text, asked):
        flags.append("restates_question")
    if _mostly_listed(normalised.text):
        flags.append("keyword_list")
    kept = tuple(piece for i, piece in enumerate(pieces) if i not in echoes)
    refusal = None
    if not kept:
        if "keyword_list" in flags:
            why = "This lists terms without saying anything about them."
        elif "restates_question" in flags:
            why = "This only repeats the question."
        else:
            why = "The answer states nothing that could be assessed."
        refusal = Refusal("incorrect", why)
    return Intake(normalised, kept, tuple(flags), refusal)


def _without_quotations(text: str) -> str:
    """Blank out quoted statements, which are mentioned and not made, unless they are most of the answer."""
    quoted = sum(len(match.group()) for match in QUOTATION.finditer(text))
    if quoted > 0.5 * len(text):
        return text
    return QUOTATION.sub(lambda match: " " * len(match.group()), text)


def bare_words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return [match.group().lower() for match in TOKEN.finditer(text) if match.group()[0].isalnum()]


def _mostly_echo(text: str, asked: frozenset[str]) -> bool:
    content = [word.stem for clause in sentences(text) for word in clause.words if word.content]
    return bool(content) and sum(root in asked for root in content) >= 0.9 * len(content)


def _mostly_listed(text: str) -> bool:
    whole = sentences(text)
    total = sum(len(clause.words) for clause in whole)
    return total > 0 and sum(len(clause.words) for clause in whole if clause.listed) >= MOSTLY * total
