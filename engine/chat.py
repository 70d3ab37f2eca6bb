"""Chat messages to prompt ids by the model's own template, in a sandbox, with user text kept as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

from jinja2 import Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import InvalidRequest
from engine.tokenizer import ModelTokenizer
from engine.types import Message, Request

# Characters that are never text (Unicode noncharacters): one is slipped into special tokens that a user
# wrote.
NONCHARACTERS = [chr(c) for c in range(0xFDD0, 0xFDF0)]


def _raise(message: str) -> None:
    raise InvalidRequest("template_refused", f"the chat template refused the messages: {message}", "messages")


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


@lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment.from_string(template)


def render_template(template: str, messages: Sequence[Mapping[str, Any]], **extra: Any) -> str:
    """Renders with jinja2's sandbox; an error of the template raises `InvalidRequest`."""
    try:
        return _compiled(template).render(messages=messages, **extra)
    except InvalidRequest:
        raise
    except Exception as error:
        # A template is a program that somebody else wrote: whatever it raises (OverflowError of a range, …) is its own.
        raise InvalidRequest("template_failed", f"the chat template failed: {error}", "messages") from error


def _shield(text: str, tokenizer: ModelTokenizer, mark: str) -> str:
    """Breaks every special token in the text with `mark`, lest it be taken for the template's own."""
    return tokenizer.encoding.splitter.sub(lambda m: m[0][0] + mark + m[0][1:], text)


def render(tokenizer: ModelTokenizer, request: Request) -> tuple[str, list[int]]:
    """The rendered prompt, the tokens to continue included, and its ids.

    Raises `InvalidRequest` for a model without a template.
    """
    text, ids = _rendered(tokenizer, request)
    kept = list(request.continue_ids)
    return text + tokenizer.decode(kept), ids + kept


def _rendered(tokenizer: ModelTokenizer, request: Request, *, opening: bool = True) -> tuple[str, list[int]]:
    if request.prompt is not None:
        ids = tokenizer.encode(request.prompt, allow_special=request.allow_special)
        return request.prompt, tokenizer.with_bos(ids)
    messages = request.messages or ()
    if tokenizer.chat_template is None:
        raise InvalidRequest(
            "no_chat_template", "this model has no chat template; give `prompt` instead", "messages"
        )
    everything = "".join(m.content for m in messages)
    mark = next((c for c in NONCHARACTERS if c not in everything), "")
    if not mark:
        raise InvalidRequest(
            "invalid_message", "the text uses every Unicode noncharacter; remove some", "messages"
        )
    shielded = (
        messages
        if request.allow_special
        else [Message(m.role, _shield(m.content, tokenizer, mark)) for m in messages]
    )
    text = render_template(
        tokenizer.chat_template,
        [{"role": m.role, "content": m.content} for m in shielded],
        add_generation_prompt=opening,
        bos_token=_name(tokenizer, tokenizer.bos_id),
        eos_token=_name(tokenizer, tokenizer.eos_id),
        tools=[dict(t) for t in request.tools] if request.tools else None,
    )
    return text.replace(mark, ""), tokenizer.with_bos(_encode_marked(tokenizer, text, mark))


def _encode_marked(tokenizer: ModelTokenizer, text: str, mark: str) -> list[int]:
    """Special tokens of the template become ids; those a user wrote hold the mark and stay text."""
    ids: list[int] = []
    for piece, token in tokenizer.encoding.split(text):
        ids += tokenizer.encode_text(piece.replace(mark, "")) if token is None else [token]
    return ids


def _name(tokenizer: ModelTokenizer, token_id: int | None) -> str:
    return "" if token_id is None else tokenizer.label(token_id)


def message_tokens(
    tokenizer: ModelTokenizer, messages: Sequence[Message], *, allow_special: bool = False
) -> tuple[list[int], int]:
    """How many prompt tokens each message costs, the template included, and how many open the answer."""

    def count(kept: Sequence[Message], opening: bool) -> int:
        request = Request(messages=tuple(kept), allow_special=allow_special)
        return len(_rendered(tokenizer, request, opening=opening)[1])

    totals = [0]
    for end in range(1, len(messages) + 1):
        try:
            totals.append(count(messages[:end], False))
        except InvalidRequest:
            # Some templates refuse a talk that ends there (a lone system message): the next message bears its tokens.
            totals.append(totals[-1])
    opening = count(messages, True) - totals[-1]
    return [after - before for before, after in pairwise(totals)], opening
