"""The run kind `tools`: rounds of proposing and disposing, until an answer, a cap, or an effect that waits for its user."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interview.runs.fits import size_fault
from interview.runs.kinds import JSON, InputRefused, Interrupted, Job, Kind, RunFailed, register
from interview.runs.models import SUCCEEDED, Run
from interview.tools.dispose import AWAITING, Call, Talk, dispose
from interview.tools.models import Proposal
from interview.tools.registry import find, tools

if TYPE_CHECKING:
    from engine import Result

ROUNDS, SECONDS, PROMPT = 4, 60.0, 4_000
KEYS = {"messages", "allowed", "rounds", "sampling", "own_words", "earlier"}
DEFAULTS = {"temperature": 0.0, "max_tokens": 160, "seed": 1}


def run_tools(job: Job) -> JSON:
    """Rounds of one conversation. A run that goes on after a confirmation starts with what was confirmed."""
    body = job.input
    job.trace["model"] = job.models.engine.card.to_dict()
    job.trace["tools"] = [
        {"name": name, "version": found.version} for name in body["allowed"] if (found := find(name))
    ]
    talk = Talk(job.run.owner, tuple(body["allowed"]), body["own_words"], models=job.models)
    talk.calls = [Call(**call) for call in body.get("earlier", [])]
    rounds = Rounds(job, talk)
    output = rounds.all()
    job.trace.update(calls=[call.to_dict() for call in talk.calls], usage=rounds.usage, rounds=rounds.made)
    return output


class Rounds:
    """One conversation while it goes on."""

    def __init__(self, job: Job, talk: Talk) -> None:
        self.job, self.talk = job, talk
        self.messages: list[JSON] = list(job.input["messages"])
        self.made: list[JSON] = []
        self.usage = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}

    def all(self) -> JSON:
        """Go on until something ends it: an answer, a proposal to confirm, the cap of rounds or of time."""
        began = time.monotonic()
        for number in range(1, self.job.input["rounds"] + 1):
            if self.job.halted:
                break
            if time.monotonic() - began > SECONDS:
                return self._output("time", "It took longer than a conversation may.")
            with self.job.stage(f"round {number}"):
                ended = self._round(number)
            if ended is not None:
                return ended
        if self.job.halted:
            return self._output("cancelled", "")
        return self._output("rounds", f"The cap of {self.job.input['rounds']} rounds is reached.")

    def _round(self, number: int) -> JSON | None:
        result = self._generate()
        if result.finish_reason == "cancelled":
            if self.job.stopping.is_set() and not self.job.cancelled.is_set():
                raise Interrupted
            return self._output("cancelled", "")
        made: JSON = {"number": number, "text": result.text, "call": None}
        self.made.append(made)
        proposed = result.parsed
        if not isinstance(proposed, dict):
            return self._output("truncated", "The model's text was cut off; nothing in it was carried out.")
        if "answer" in proposed:
            return self._output("answered", proposed["answer"])
        call = dispose(self.talk, proposed["name"], proposed["arguments"])
        made["call"] = call.to_dict()
        self.job.emit("progress", {"words": f"round {number}: {call.name} {call.outcome}"})
        self.messages.append({"role": "assistant", "content": result.text})
        if call.outcome == AWAITING:
            return self._await(call)
        self.messages.append({"role": "tool", "content": call.told()})
        return None

    def _generate(self) -> Result:
        from engine import EngineError, Request

        declared = [found.declaration for name in self.talk.allowed if (found := find(name))]
        sampling = {**DEFAULTS, **self.job.input["sampling"]}
        try:
            request = Request.from_dict({"messages": self.messages, "tools": declared, "sampling": sampling})
            handle = self.job.models.engine.submit(request)
        except EngineError as error:
            raise RunFailed(error.message) from error
        self.job.call_on_halt(handle.cancel)
        for _ in handle:
            pass
        result = handle.result()
        for name in self.usage:
            self.usage[name] += result.usage[name]
        if result.finish_reason == "error":
            raise RunFailed((result.error or {}).get("message", "The model failed while generating."))
        return result

    def _await(self, call: Call) -> JSON:
        """Name the proposal; it is written when the run ends well, and only its user can let it happen (services.py)."""
        return {**self._output(AWAITING, call.words), "proposal": str(uuid.uuid4())}

    def _output(self, ended: str, text: str) -> JSON:
        return {
            "ended": ended,
            "text": text,
            "rounds": self.made,
            "messages": self.messages,
            "usage": self.usage,
        }


def proposal_write(run: Run) -> None:
    """The proposal that a run ended with, in the transaction that ends it: an attempt that was lost leaves none."""
    output = run.output or {}
    if run.state != SUCCEEDED or "proposal" not in output:
        return
    call = output["rounds"][-1]["call"]
    Proposal.objects.create(
        id=output["proposal"],
        owner=run.owner,
        run=run,
        tool=call["name"],
        arguments=call["arguments"],
        words=call["words"][:200],
    )


def check(body: JSON) -> JSON:
    """An input that came through the API or the form."""
    unknown = sorted(set(body) - (KEYS - {"own_words", "earlier"}))
    if unknown:
        raise InputRefused("unknown_key", f"Unknown key {unknown[0]!r}.", (unknown[0],))
    messages: Any = body.get("messages")
    allowed, rounds = body.get("allowed"), body.get("rounds", ROUNDS)
    if not _text(messages):
        raise InputRefused("invalid_input", f"messages must be one user message of 1 to {PROMPT} characters.", ("messages",))  # fmt: skip
    if (
        not isinstance(allowed, list)
        or not allowed
        or len(allowed) > 6
        or not all(isinstance(name, str) and name in tools() for name in allowed)
    ):
        raise InputRefused("invalid_input", f"allowed must be 1 to 6 of {', '.join(tools())}.", ("allowed",))
    if not isinstance(rounds, int) or isinstance(rounds, bool) or not 1 <= rounds <= ROUNDS:
        raise InputRefused("invalid_input", f"rounds must be 1 to {ROUNDS}.", ("rounds",))
    _check_size(messages, allowed)
    return {
        "messages": messages,
        "allowed": list(dict.fromkeys(allowed)),
        "rounds": rounds,
        "sampling": _sampling(body.get("sampling", {})),
        "own_words": messages[0]["content"],
    }


def _check_size(messages: list[JSON], allowed: list[str]) -> None:
    """The declarations are part of the prompt. Raises InputRefused."""
    declared = [found.declaration for name in dict.fromkeys(allowed) if (found := find(name))]
    if fault := size_fault({"messages": messages, "tools": declared}):
        raise InputRefused("prompt_too_long", f"{fault} Or allow fewer tools.", ("messages",))


def _text(messages: Any) -> bool:
    return (
        isinstance(messages, list)
        and len(messages) == 1
        and isinstance(messages[0], dict)
        and messages[0].get("role") == "user"
        and isinstance(messages[0].get("content"), str)
        and 0 < len(messages[0]["content"].strip()) <= PROMPT
        and set(messages[0]) == {"role", "content"}
    )


def _sampling(given: Any) -> JSON:
    from engine import EngineError, Sampling

    if not isinstance(given, dict) or set(given) - set(DEFAULTS):
        raise InputRefused("invalid_sampling", f"sampling takes {', '.join(DEFAULTS)}.", ("sampling",))
    try:
        Sampling.from_dict({**DEFAULTS, **given})
    except EngineError as error:
        raise InputRefused(error.code, error.message, ("sampling",)) from error
    return {**given, "max_tokens": min(given.get("max_tokens", DEFAULTS["max_tokens"]), 400)}


def conversation_text(messages: list[JSON]) -> str:
    """A conversation as JSON text, for pages."""
    return json.dumps(messages, indent=2, ensure_ascii=False)


def shown(run: Run, given: Mapping[str, str], address: str) -> tuple[str, JSON]:
    """The rounds for whoever has the link; nothing can be confirmed from there."""
    return "tools/_rounds.html", {}


register(
    Kind(
        name="tools",
        title="Tools",
        execute=run_tools,
        ended=proposal_write,
        check=check,
        page="tools:tools",
        shown=shown,
    )
)
