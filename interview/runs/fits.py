"""What the worker's engine would refuse for its size, told before it is queued: by the model's files, without its weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from interview.heap import give_back

if TYPE_CHECKING:
    from engine import Request
    from engine.errors import PromptTooLong
    from engine.tokenizer import ModelTokenizer


# More than any template puts around a message, in tokens; a raw prompt gets a first token at most.
AROUND, BEFORE_RAW = 64, 1
PROMPT_KEYS = ("prompt", "messages", "tools", "allow_special", "continue_ids")
# What a server behind ENGINE_URL may have no word for, too.
REMOTE_KEYS = (*PROMPT_KEYS, "sampling", "schema", "regex", "choices", "grammar", "quotes", "adapter")


@dataclass(frozen=True)
class Model:
    """What it takes to judge a request's size: the file, the ids there are, the context window, the layers."""

    path: Path
    vocab_size: int
    window: int
    layers: int


def served_model() -> Model | None:
    """The model that the workers load; None for one that only they can read (a remote one, a folder)."""
    from engine.registry import MODELS

    spec = None if settings.ENGINE_URL else MODELS.get(settings.ENGINE_MODEL)
    path = Path(settings.MODELS_DIR) / spec.name / spec.weights if spec else None
    if path is None or path.suffix != ".gguf" or not path.is_file():
        return None
    return _read(path, settings.ENGINE_CONTEXT)


@lru_cache(maxsize=2)
def _read(path: Path, longest: int) -> Model:
    from engine.gguf_metadata import read_metadata
    from engine.registry import gguf_shape

    shape = gguf_shape(read_metadata(path))
    window = shape["context_length"]
    return Model(path, shape["vocab_size"], min(window, longest or window), shape["n_layers"])


def _tokenizer(path: Path) -> ModelTokenizer:
    """Half a second and some 60 MB in a web process: read only for a prompt that may be too long, and let go after it."""
    from engine.gguf_metadata import read_metadata
    from engine.tokenizer import from_gguf

    return from_gguf(read_metadata(path))


def _longest(request: Request) -> int:
    """Tokens that the prompt can't exceed: one a byte, and what a template puts around each message."""
    if request.messages is None:
        return len((request.prompt or "").encode()) + BEFORE_RAW + len(request.continue_ids)
    texts = [message.content or "" for message in request.messages]
    return sum(len(text.encode()) for text in texts) + AROUND * (len(texts) + 1) + len(request.continue_ids)


def check_fits(request: Request, *, most: int | None = None) -> None:
    """The ids exist and the prompt leaves room for an answer; where a page looks at `most` tokens, it has no more.

    A remote model's size isn't known; what no server can be asked for is refused.

    Raises InvalidRequest, PromptTooLong.
    """
    from engine.portable import check_portable
    from engine.tools import with_instructions

    if settings.ENGINE_URL:
        check_portable(request)
    model = served_model()
    if model is None:
        return
    _check_ids(request, model)
    whole, limit = with_instructions(request), min(model.window - 1, most or model.window)
    if _longest(whole) <= limit:
        return
    count = _count(model.path, whole)
    if count > limit:
        raise _too_long(count, model.window, most)


def _count(path: Path, request: Request) -> int:
    """Tokens of a request, and the tokenizer's memory given back."""
    from engine import chat

    try:
        return len(chat.render(_tokenizer(path), request)[1])
    finally:
        give_back()


def _check_ids(request: Request, model: Model) -> None:
    from engine.errors import InvalidRequest

    named: dict[str, Iterable[int]] = {
        "logit_bias": request.sampling.logit_bias,
        "continue_ids": request.continue_ids,
    }
    for field, ids in named.items():
        if unknown := next((token for token in ids if token >= model.vocab_size), None):
            code = "invalid_sampling" if field == "logit_bias" else "invalid_request"
            message = f"{field} names token {unknown}; the vocabulary has {model.vocab_size} tokens"
            raise InvalidRequest(code, message, field)


def _too_long(count: int, window: int, most: int | None) -> PromptTooLong:
    from engine.errors import PromptTooLong

    if most is not None and most < window:
        return PromptTooLong(f"The text has {count} tokens; this page looks at {most} at most. Shorten it.")
    return PromptTooLong(
        f"The prompt has {count} tokens; the context window holds {window} with at least one of output. "
        "Shorten the prompt."
    )


def size_fault(body: Mapping[str, Any], *, most: int | None = None) -> str:
    """What a form says about a prompt or messages that can't be read, most often for their length; else nothing."""
    from engine import Request
    from engine.errors import EngineError

    keys = REMOTE_KEYS if settings.ENGINE_URL else PROMPT_KEYS
    asked = {name: body[name] for name in keys if body.get(name)}
    try:
        check_fits(Request.from_dict(asked), most=most)
    except EngineError as error:
        return error.message
    return ""
