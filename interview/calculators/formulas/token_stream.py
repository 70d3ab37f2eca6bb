"""A text or chat as tokens in order, each with its bytes and whether the template, the user or a control token made it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from interview.calculators.formulas.chat_templates import Part, TemplateRefused, parts
from interview.calculators.formulas.encodings import Loaded, encoding
from interview.calculators.formulas.parameters import refuse, visible
from interview.calculators.formulas.vocabularies import VOCABULARIES

ROLE = re.compile(r"^(system|user|assistant|tool):\s?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Ids, and for each whether it is a control token and whether the template wrote all of it."""

    ids: tuple[int, ...]
    controls: tuple[bool, ...]
    templates: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to count: a text or a chat, how control tokens in it are taken, and what is added."""

    text: str
    is_chat: bool = False
    control: bool = False
    generation_prompt: bool = False
    add_bos: bool = False


def messages(chat: str) -> list[tuple[str, str]]:
    """(role, content) of each message. Raises InputErrors on `text` where no line names a role."""
    pieces = ROLE.split(chat)
    if len(pieces) < 3 or pieces[0].strip():
        raise refuse(
            "text", "is no chat: begin each message with system:, user: or assistant: on a line of its own"
        )
    return [(role, content.rstrip("\n")) for role, content in zip(pieces[1::2], pieces[2::2], strict=True)]


def prompt_parts(name: str, wanted: Wanted) -> list[Part]:
    """The text as it is encoded, cut into template and user. Raises InputErrors for a chat that can't be rendered."""
    if not wanted.is_chat:
        return [Part(wanted.text, False)]
    loaded = encoding(name)
    if not loaded.template:
        raise refuse(
            "encoding",
            f"{VOCABULARIES[name].title} has no chat template here: untick chat, or choose another",
        )
    try:
        return parts(
            loaded.template,
            messages(wanted.text),
            add_generation_prompt=wanted.generation_prompt,
            bos_token=loaded.bos,
            eos_token="",
        )
    except TemplateRefused as refused:
        raise refuse("text", f"was refused by the chat template: {visible(str(refused), 160)}") from refused


def stream(name: str, wanted: Wanted) -> Tokens:
    """Every token of what is asked for. Raises InputErrors."""
    loaded = encoding(name)
    ids: list[int] = []
    controls: list[bool] = []
    templates: list[bool] = []
    if wanted.add_bos and loaded.bos in loaded.controls:
        ids, controls, templates = [loaded.controls[loaded.bos]], [True], [True]
    for run in _runs(loaded, prompt_parts(name, wanted), wanted.control):
        if isinstance(run, _Control):
            ids.append(run.id)
            controls.append(True)
            templates.append(run.is_template)
            continue
        made = loaded.encoder.plain("".join(p.text for p in run))
        ids += made
        controls += [False] * len(made)
        templates += _by_template(loaded, made, run)
    return Tokens(tuple(ids), tuple(controls), tuple(templates))


@dataclass(frozen=True, slots=True)
class _Control:
    id: int
    is_template: bool


def _runs(loaded: Loaded, prompt: Iterable[Part], control: bool) -> Iterator[_Control | list[Part]]:
    """Stretches of plain text between control tokens; the user's names of control tokens count only with `control`."""
    run: list[Part] = []
    for part in prompt:
        text = loaded.normal(part.text)
        pieces = loaded.splitter.split(text) if part.is_template or control else [text]
        for piece in pieces:
            if len(pieces) > 1 and piece in loaded.controls:
                if run:
                    yield run
                run = []
                yield _Control(loaded.controls[piece], part.is_template)
            elif piece:
                run.append(Part(piece, part.is_template))
    if run:
        yield run


def _by_template(loaded: Loaded, ids: list[int], run: list[Part]) -> list[bool]:
    """Which tokens hold nothing but the template's bytes."""
    if all(not p.is_template for p in run):
        return [False] * len(ids)
    own = _spans(run)
    flags, at, place = [], 0, 0
    for token in ids:
        end = at + len(loaded.encoder.spelling(token))
        while place < len(own) and own[place][1] <= at:
            place += 1
        flags.append(not (place < len(own) and own[place][0] < end))
        at = end
    return flags


def _spans(run: list[Part]) -> list[tuple[int, int]]:
    """Byte ranges of what the messages wrote."""
    spans, at = [], 0
    for part in run:
        end = at + len(part.text.encode())
        if not part.is_template:
            spans.append((at, end))
        at = end
    return spans
