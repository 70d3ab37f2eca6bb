"""A local transformer whose every step can be seen, constrained, measured and replayed.

Importing this package imports no torch: the names that need it are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.registry import MODELS, ModelCard, ModelSpec, card, prepare
from engine.types import (
    EngineError,
    Event,
    FinishEvent,
    InvalidRequest,
    Message,
    ModelError,
    Passage,
    PromptTooLong,
    Request,
    Result,
    Sampling,
    StartEvent,
    TokenEvent,
)

if TYPE_CHECKING:
    from engine.llm import Engine
    from engine.observe import Observation, Observe
    from engine.remote import RemoteEngine

_LAZY = {
    "Engine": "engine.llm",
    "Handle": "engine.loop",
    "Embedder": "engine.embeddings",
    "Grader": "engine.grading",
    "Observe": "engine.observe",
    "RemoteEngine": "engine.remote",
    "Observation": "engine.observe",
}

__all__ = [
    "MODELS",
    "Engine",
    "EngineError",
    "Event",
    "FinishEvent",
    "InvalidRequest",
    "Message",
    "ModelCard",
    "ModelError",
    "ModelSpec",
    "Observation",
    "Observe",
    "Passage",
    "PromptTooLong",
    "RemoteEngine",
    "Request",
    "Result",
    "Sampling",
    "StartEvent",
    "TokenEvent",
    "card",
    "prepare",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'engine' has no attribute {name!r}")
