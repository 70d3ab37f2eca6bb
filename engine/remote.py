"""The same requests against an OpenAI-compatible server (vLLM, llama.cpp, `transformers serve`, this site).

Text, finish reason, log-probabilities and usage are the server's; what only a local model can show (ids, steps,
attention, adapters) is absent and never made up. A schema is sent as `response_format`, and the finished text is
validated here whatever the server promised.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

import openai

from engine import constraints
from engine.errors import InvalidRequest
from engine.exchange import Exchange
from engine.handle import Handle
from engine.portable import check_portable
from engine.registry import ModelCard
from engine.response_formats import Shapes
from engine.tools import with_instructions
from engine.types import Request, Result

# Parts of the local engine that no server lets one look into.
LOCAL_PARTS = {"tokenizer", "decoder", "loop", "grammars", "adapters", "adapter", "passages", "observe", "attach",
               "detach", "classify", "stats"}  # fmt: skip


class NotRemote(InvalidRequest, AttributeError):
    """What was asked for needs the model itself; code that can do without may ask by `getattr` with a default."""


class RemoteEngine:
    """`submit` and `generate` as the local engine has them. Every method may be called from any thread."""

    def __init__(self, url: str, model: str, key: str = "", timeout: float = 120.0) -> None:
        self.model, self.url = model, url
        self.shapes = Shapes()
        self.client = openai.OpenAI(base_url=url, api_key=key or "none", timeout=timeout, max_retries=1)
        self.card = ModelCard(model, f"served by {url}", "", "", "remote", "unknown", 0, 0, 0, 0, 0, 0, 0, 0)

    def __enter__(self) -> RemoteEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name in LOCAL_PARTS:
            raise NotRemote(
                "not_remote",
                f"this needs the model itself (its {name}), and the model runs on a server that doesn't show it: "
                "it works without ENGINE_URL",
            )
        raise AttributeError(f"RemoteEngine has no {name}")

    def submit(self, request: Request) -> Handle:
        """Sends a request; its events arrive as the server streams. Raises `InvalidRequest` for what it can't carry."""
        check_portable(request)
        constraint = constraints.of_request(request)
        exchange = Exchange(self.client, self.model, with_instructions(request), constraint, self.shapes)
        threading.Thread(target=exchange.run, name=f"remote-{request.id[:8]}", daemon=True).start()
        return exchange.handle

    def generate(self, request: Request) -> Result:
        """Submits and waits for the result."""
        return self.submit(request).result()

    def close(self) -> None:
        """Ends the connections."""
        self.client.close()
