"""What a trace says of the machinery: the chat template and the machine that the tokens came from."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine import Engine


def engine_facts(engine: Engine) -> dict[str, Any]:
    """{"template", "machine"} of an engine; parts that a remote engine doesn't tell are null."""
    template = getattr(getattr(engine, "tokenizer", None), "chat_template", None)
    decoder = getattr(engine, "decoder", None)
    device = getattr(decoder, "device", None)
    return {
        "template": {
            "name": f"chat template of {engine.card.name}",
            "sha256": hashlib.sha256(template.encode()).hexdigest() if template else None,
        },
        "machine": {
            "device": str(device) if device is not None else None,
            "threads": engine.stats().get("threads") if decoder is not None else None,
            "processor": processor(),
            "torch": torch_version(),
        },
    }


@cache
def processor() -> str:
    """The processor's own name where the system tells it, its architecture otherwise."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
            return next(names, platform.machine())
    except OSError:
        return platform.machine()


@cache
def torch_version() -> str | None:
    """The installed torch, read from its metadata."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return None
