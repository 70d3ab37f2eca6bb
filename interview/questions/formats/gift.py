"""GIFT, as Moodle writes it: essays with their reference, numbers, choices, short answers, true or false."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interview.questions.content import Content
from interview.questions.formats import markup
from interview.questions.formats.raw import Raw, text_of
from interview.questions.loader import LEVELS

ESCAPED = re.compile(r"\\([~=#{}:n\\])")
SPECIAL = re.compile(r"[~=#{}:\\]")
NAME = re.compile(r"\[(id|tag):((?:[^\]\\]|\\.)*)\]")
TITLE = re.compile(r"^::(.*?)(?<!\\)::", re.S)
FORMAT = re.compile(r"^\s*\[(moodle|plain|html|markdown)\]\s*")
COMMENT_LIMIT = 2_000  # characters of the comments before a question that are looked at
BRACE = re.compile(r"(?<!\\)(?:\\\\)*\{")
CLOSING = re.compile(r"(?<!\\)(?:\\\\)*\}")
OPTION = re.compile(r"(?<!\\)([=~])")
NUMBER = re.compile(r"^[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?$")
WEIGHT = re.compile(r"^%[\d.+-]+%")


@dataclass(frozen=True)
class Block:
    """The lines of one question, and the comments right before it."""

    line: int
    text: str
    comments: str


class Unreadable(ValueError):
    """A question that this format holds and the site can't ask."""


def read(data: bytes) -> list[Raw]:
    """Every question of the file; categories are skipped, matching questions are refused with a reason."""
    rows = []
    for block in _blocks(text_of(data)):
        try:
            rows.append(Raw(f"line {block.line}", _fields(block)))
        except Unreadable as reason:
            rows.append(Raw(f"line {block.line}", problem=str(reason)))
    return rows


def _blocks(text: str) -> list[Block]:
    blocks: list[Block] = []
    lines: list[str] = []
    comments: list[str] = []
    start = 1
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line.lstrip().startswith("//"):
            comments.append(line)
        elif line.strip().startswith("$CATEGORY:"):
            comments.clear()
        elif line.strip():
            start = start if lines else number
            lines.append(line)
        elif lines:
            blocks.append(Block(start, "\n".join(lines), "\n".join(comments)))
            lines, comments = [], []
    return blocks


def _fields(block: Block) -> dict[str, Any]:
    text, fields = block.text, _names(block.comments[-COMMENT_LIMIT:])
    if titled := TITLE.match(text):
        fields["title"] = _plain(titled[1], "plain")
        text = text[titled.end() :]
    form = "moodle"
    if said := FORMAT.match(text):
        form, text = said[1], text[said.end() :]
    opening = BRACE.search(text)
    closing = CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        raise Unreadable("no answer in braces: {} makes an essay, {####text} one with its reference")
    after = text[closing.end() :].strip()
    gap = " _____ " if after else ""
    fields["prompt"] = _plain(f"{text[: opening.end() - 1].strip()}{gap}{after}", form)
    return fields | _answer(text[opening.end() : closing.end() - 1].strip(), form)


def _names(comments: str) -> dict[str, Any]:
    """`[id:…]` and `[tag:…]` of the comments, as Moodle 3.6 and later write them."""
    fields: dict[str, Any] = {}
    for kind, value in NAME.findall(comments):
        value = re.sub(r"\\(.)", r"\1", value)
        if kind == "id":
            fields["uid"] = value
        elif value in LEVELS:
            fields["level"] = value
        elif value.startswith("topic:"):
            fields["topic"] = value.removeprefix("topic:")
    return fields


def _answer(body: str, form: str) -> dict[str, Any]:
    """The reference and what contradicts it, from what stands between the braces."""
    if body.startswith("####") or not body:
        return {"strong": _plain(body.removeprefix("####"), form)}
    if body.startswith("#"):
        return _numeric(body[1:].strip())
    feedback = re.split(r"(?<!\\)####", body)[1:]
    body = re.split(r"(?<!\\)####", body)[0].strip()
    head = re.split(r"(?<!\\)#", body)[0].strip().upper()
    if head in ("T", "TRUE", "F", "FALSE"):
        said = "The statement is true." if head[0] == "T" else "The statement is false."
        return {"strong": _plain(feedback[0], form) if feedback else said}
    return _choices(body, feedback, form)


def _numeric(body: str) -> dict[str, Any]:
    body = re.split(r"(?<!\\)#", body)[0].strip().lstrip("=").strip()
    if ".." in body:
        low, high = (_number(part) for part in body.split("..", 1))
        value, margin = (low + high) / 2, (high - low) / 2
    else:
        first, _, second = body.partition(":")
        value, margin = _number(first), _number(second) if second else 0.0
    text = f"The answer is {value:g}."
    tolerance = min(0.99, abs(margin / value)) if value else 0.0
    number = {"value": value, "tolerance": round(tolerance, 6), "required": True}
    point = {"id": "value", "means": text, "statements": [text], "numbers": [number]}
    return {"strong": text, "points": [point]}


def _number(text: str) -> float:
    if not NUMBER.match(text.strip()):
        raise Unreadable(f"{text.strip()!r} is no number; one numerical answer such as {{#19.3:0.2}} is read")
    return float(text.strip().replace(",", "."))


def _choices(body: str, feedback: list[str], form: str) -> dict[str, Any]:
    """Right choices become the reference, wrong ones misconceptions."""
    parts = OPTION.split(body)
    right: list[tuple[str, str]] = []
    wrong: list[tuple[str, str]] = []
    for sign, option in zip(parts[1::2], parts[2::2], strict=True):
        if "->" in option:
            raise Unreadable("matching questions can't be answered in free text")
        said, why = [*re.split(r"(?<!\\)#", option, maxsplit=1), ""][:2]
        share = WEIGHT.match(said.strip())
        text = _plain(WEIGHT.sub("", said.strip()), form)
        counts = sign == "=" or (share is not None and not share[0].startswith(("%-", "%0%")))
        if text:
            (right if counts else wrong).append((text, _plain(why, form)))
    if not right:
        raise Unreadable("no right answer is marked with =")
    said = [_sentence(text) for text, _ in right]
    fields: dict[str, Any] = {"strong": _plain(feedback[0], form) if feedback else " ".join(said)}
    if len(said) > 1:  # alternatives: any one of them is the answer
        fields["points"] = [{"id": "answer", "means": said[0], "statements": said}]
    fields["misconceptions"] = [
        {"id": f"m{number}", "statements": [text], "right": why or said[0]}
        for number, (text, why) in enumerate(wrong, start=1)
    ]
    return fields


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _plain(text: str, form: str) -> str:
    """The text without escapes; a part may name a format of its own. Moodle's own format is HTML as well."""
    if said := FORMAT.match(text):
        form, text = said[1], text[said.end() :]
    bare = _bare(text)
    return markup.plain(bare) if form == "html" or (form == "moodle" and markup.is_markup(bare)) else bare


def _bare(text: str) -> str:
    return ESCAPED.sub(lambda found: "\n" if found[1] == "n" else found[1], text).strip()


def write(contents: Sequence[Content]) -> bytes:
    """Every question as an essay whose reference is its general feedback; Moodle reads id and tags from the comment."""
    return "\n".join(_written(content) for content in contents).encode("utf-8", "backslashreplace")


def _written(content: Content) -> str:
    names = [("id", content.uid), ("tag", content.level), ("tag", f"topic:{content.topic}")]
    comment = " ".join(f"[{kind}:{_name(value)}]" for kind, value in names)
    title, prompt, strong = (_escaped(text) for text in (content.title, content.prompt, content.strong))
    return f"// {comment}\n::{title}::[markdown]{prompt} {{####{strong}}}\n"


def _name(value: str) -> str:
    return re.sub(r"([\]\\])", r"\\\1", value)


def _escaped(text: str) -> str:
    return SPECIAL.sub(lambda found: "\\" + found[0], text).replace("\n", "\\n")
