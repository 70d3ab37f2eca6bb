"""What a request to a remote server can't carry: OpenAI's protocol has no word for it. Imports neither torch nor a client."""

from __future__ import annotations

from engine.errors import InvalidRequest
from engine.types import Request, Sampling

LOCAL_ONLY = ("regex", "choices", "grammar", "quotes", "adapter", "allow_special", "continue_ids")
LOCAL_SAMPLING = ("no_repeat_ngram", "order")


def check_portable(request: Request) -> None:
    """Refuses by name what a server would pass over in silence."""
    plain = Sampling()
    used = [name for name in LOCAL_ONLY if getattr(request, name) not in (None, False, ())]
    used += [n for n in LOCAL_SAMPLING if getattr(request.sampling, n) != getattr(plain, n)]
    if used:
        raise InvalidRequest(
            "not_remote", f"{used[0]} needs the local model; a remote server takes schema and tools", used[0]
        )
    held = "schema" if request.schema is not None else "tools" if request.tools else ""
    if held and request.prompt is not None:
        # OpenAI's completions of a raw prompt have no place for one.
        message = f"{held} beside a raw prompt needs the local model; give the text as messages"
        raise InvalidRequest("not_remote", message, held)
