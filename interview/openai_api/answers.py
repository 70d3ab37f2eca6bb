"""Runs as OpenAI's objects: the whole completion, and the chunks of a streamed one."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from interview import __version__
from interview.openai_api.envelope import answer_so_far, call_so_far
from interview.runs.models import Run

JSON = dict[str, Any]
REASONS = {"stop": "stop", "stop_string": "stop", "length": "length", "cancelled": "stop"}


def fingerprint(model: str) -> str:
    """Names the configuration behind an answer: another one may answer differently to the same seed."""
    return "fp_" + hashlib.sha256(f"{model} {__version__}".encode()).hexdigest()[:10]


def head(run: Run, model: str, kind: str) -> JSON:
    """What the completion and each of its chunks begin with."""
    return {
        "id": f"chatcmpl-{run.pk.hex}",
        "object": kind,
        "created": int(run.created.timestamp()),
        "model": model,
        "system_fingerprint": fingerprint(model),
    }


def usage_of(output: JSON) -> JSON:
    """Tokens in and out; the prompt counts once however many choices."""
    usage = output["usage"]
    return {
        "prompt_tokens": usage["prompt_tokens"],
        "completion_tokens": usage["completion_tokens"],
        "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"],
        "prompt_tokens_details": {"cached_tokens": usage["cached_tokens"]},
    }


def completion(run: Run, model: str) -> JSON:
    """The answer to a request that doesn't stream."""
    output: JSON = run.output or {}
    tools = bool(run.input.get("tools"))
    choices = [_choice(run, choice, tools) for choice in output["choices"]]
    return {**head(run, model, "chat.completion"), "choices": choices, "usage": usage_of(output)}


def _choice(run: Run, choice: JSON, tools: bool) -> JSON:
    message: JSON = {"role": "assistant", "content": choice["text"], "refusal": None}
    reason = REASONS[choice["finish_reason"]]
    if tools:
        call = call_so_far(choice["text"], whole=reason == "stop")
        message["content"] = answer_so_far(choice["text"])
        if call is not None:
            message["tool_calls"] = [tool_call(run, choice["index"], *call)]
            reason = "tool_calls" if reason == "stop" else reason
    logprobs = None if choice["logprobs"] is None else {"content": choice["logprobs"], "refusal": None}
    return {"index": choice["index"], "message": message, "logprobs": logprobs, "finish_reason": reason}


def tool_call(run: Run, index: int, name: str, arguments: str) -> JSON:
    """A call with an id that names its run and choice."""
    call_id = f"call_{run.pk.hex[:20]}{index:04d}"
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


class ChunkWriter:
    """Turns token events into chunks, each choice by itself; text inside an envelope is unwrapped on the way."""

    def __init__(self, run: Run, model: str, *, include_usage: bool) -> None:
        self.run = run
        self.head = head(run, model, "chat.completion.chunk")
        self.tools = bool(run.input.get("tools"))
        self.include_usage = include_usage
        self.texts = [""] * run.input["n"]
        self.shown = [""] * run.input["n"]
        self.started = [False] * run.input["n"]

    @property
    def any_sent(self) -> bool:
        return any(self.started)

    def line(self, choices: list[JSON], **more: Any) -> bytes:
        """One server-sent event."""
        usage = {"usage": None} if self.include_usage else {}
        body = {**self.head, "choices": choices, **usage, **more}
        return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()

    def opening(self, index: int) -> list[bytes]:
        """The chunk that says who speaks, once."""
        if self.started[index]:
            return []
        self.started[index] = True
        return [
            self._delta(index, {"role": "assistant", "content": None if self.tools else "", "refusal": None})
        ]

    def tokens(self, tokens: list[JSON]) -> list[bytes]:
        """Chunks for a batch of token events: at most one a choice."""
        lines: list[bytes] = []
        for index in dict.fromkeys(token.get("c", 0) for token in tokens):
            mine = [token for token in tokens if token.get("c", 0) == index]
            text = "".join(token["text"] for token in mine)
            logprobs = [token["lp"] for token in mine if "lp" in token]
            lines += self.opening(index) + self._text(index, text, logprobs)
        return lines

    def _text(self, index: int, text: str, logprobs: list[JSON]) -> list[bytes]:
        self.texts[index] += text
        delta = self._tool_delta(index, whole=False) if self.tools else ({"content": text} if text else None)
        if delta is None and not logprobs:
            return []
        return [self._delta(index, delta or {"content": ""}, logprobs=logprobs)]

    def _tool_delta(self, index: int, *, whole: bool) -> JSON | None:
        """What an envelope has newly revealed: a call's name, more of its arguments, more of an answer."""
        call = call_so_far(self.texts[index], whole=whole)
        if call is None:
            answer = answer_so_far(self.texts[index]) or ""
            new = answer[len(self.shown[index]) :]
            self.shown[index] = answer
            return {"content": new} if new else None
        key = f"\0{call[1]}"  # a mark, so that a call whose arguments are still empty counts as begun
        begun = self.shown[index].startswith("\0")
        new = key[len(self.shown[index]) :] if begun else call[1]
        if begun and not new:
            return None
        self.shown[index] = key
        if begun:
            return {"tool_calls": [{"index": 0, "function": {"arguments": new}}]}
        return {"tool_calls": [{"index": 0, **tool_call(self.run, index, call[0], new)}]}

    def closing(self, output: JSON) -> list[bytes]:
        """Whatever wasn't sent yet, each choice's finish reason, the usage where asked for, and [DONE]."""
        lines: list[bytes] = []
        for choice in output["choices"]:
            index = choice["index"]
            lines += self.opening(index)
            whole = _choice(self.run, choice, self.tools)
            rest = choice["text"][len(self.texts[index]) :]
            self.texts[index] = choice["text"]
            delta = (
                self._tool_delta(index, whole=choice["finish_reason"] != "length")
                if self.tools
                else ({"content": rest} if rest else None)
            )
            if delta:
                lines.append(self._delta(index, delta))
            lines.append(self._delta(index, {}, finish_reason=whole["finish_reason"]))
        if self.include_usage:
            lines.append(self.line([], usage=usage_of(output)))
        return [*lines, b"data: [DONE]\n\n"]

    def error(self, body: JSON) -> bytes:
        """An error inside a stream that has begun, as OpenAI's clients understand it."""
        return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()

    def _delta(
        self, index: int, delta: JSON, *, logprobs: list[JSON] | None = None, finish_reason: str | None = None
    ) -> bytes:
        scored = {"content": logprobs, "refusal": None} if logprobs else None
        return self.line(
            [{"index": index, "delta": delta, "logprobs": scored, "finish_reason": finish_reason}]
        )
