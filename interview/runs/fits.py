"""What the worker's engine would refuse for its size, told before it is queued: by the model's files, without its weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from engine import Request
    from engine.tokenizer import ModelTokenizer


# More than any template puts around a message, in tokens.
AROUND = 64


@dataclass(frozen=True)
class Model:
    """What it takes to judge a prompt's size: the file, the ids there are, the context window."""

    path: Path
    vocab_size: int
    window: int


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
    from engine.gguf_file import read_gguf
    from engine.registry import gguf_shape

    metadata = read_gguf(path).metadata
    shape = gguf_shape(metadata)
    window = shape["context_length"]
    return Model(path, shape["vocab_size"], min(window, longest or window))


def _tokenizer(path: Path) -> ModelTokenizer:
    """Half a second and some 60 MB in a web process: read only for a prompt that may be too long, and let go after it."""
    from engine.gguf_file import read_gguf
    from engine.tokenizer import from_gguf

    return from_gguf(read_gguf(path).metadata)


def _longest(request: Request) -> int:
    """Tokens that the prompt can't exceed: one a byte, and what a template puts around each message."""
    texts = [request.prompt or "", *(message.content or "" for message in request.messages or ())]
    return sum(len(text.encode()) for text in texts) + AROUND * (len(texts) + 1) + len(request.continue_ids)


def check_fits(request: Request) -> None:
    """The ids exist and the prompt leaves room for an answer. Raises InvalidRequest, PromptTooLong."""
    from engine import chat
    from engine.errors import InvalidRequest, PromptTooLong
    from engine.tools import with_instructions

    model = served_model()
    if model is None:
        return
    named: dict[str, Iterable[int]] = {
        "logit_bias": request.sampling.logit_bias,
        "continue_ids": request.continue_ids,
    }
    for field, ids in named.items():
        if unknown := next((token for token in ids if token >= model.vocab_size), None):
            code = "invalid_sampling" if field == "logit_bias" else "invalid_request"
            message = f"{field} names token {unknown}; the vocabulary has {model.vocab_size} tokens"
            raise InvalidRequest(code, message, field)
    whole = with_instructions(request)
    if _longest(whole) < model.window:
        return
    count = len(chat.render(_tokenizer(model.path), whole)[1])
    if count >= model.window:
        raise PromptTooLong(
            f"The prompt has {count} tokens; the context window holds {model.window} with at least one of output. "
            "Shorten the prompt."
        )
