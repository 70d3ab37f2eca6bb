"""Decode → parse → schema → semantics → retry with the error fed back, at most twice → the final state. No model here."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from engine.errors import EngineError
from engine.schemas import parse_json
from interview.playground.structured.contracts import Contract, semantic_faults

JSON = dict[str, Any]
RETRIES = 2
CUT = "it was cut off at the token limit"
PASSED, FAILED, NOT_REACHED = "passed", "failed", "not reached"
STAGES = ("decode", "parse", "schema", "semantics")


@dataclass
class Attempt:
    """One decoded text and how far it came."""

    text: str
    tokens: int
    stages: dict[str, str] = field(default_factory=lambda: dict.fromkeys(STAGES, NOT_REACHED))
    error: str = ""
    value: Any = None
    ms: float = 0.0

    @property
    def valid(self) -> bool:
        return all(state == PASSED for state in self.stages.values())

    def to_dict(self) -> JSON:
        return {
            "text": self.text,
            "tokens": self.tokens,
            "stages": self.stages,
            "error": self.error,
            "valid": self.valid,
            "ms": self.ms,
        }


def judge(
    text: str, finish: str, tokens: int, schema: Any, model: type[Contract] | None, source: str
) -> Attempt:
    """Hold a text against every stage; the first that fails ends it. A text that was cut off is never valid."""
    attempt = Attempt(text, tokens)
    began = time.perf_counter()
    for stage in STAGES:
        attempt.error = _fault(stage, attempt, finish, schema, model, source)
        attempt.stages[stage] = FAILED if attempt.error else PASSED
        if attempt.error:
            break
    attempt.ms = round(1000 * (time.perf_counter() - began), 2)
    return attempt


def _fault(
    stage: str, attempt: Attempt, finish: str, schema: Any, model: type[Contract] | None, source: str
) -> str:
    if stage == "decode":
        if finish == "length":
            return CUT
        return "it was stopped" if finish == "cancelled" else ""
    if stage == "semantics":
        return semantic_faults(model, attempt.value, source)
    try:
        # The first pass is for syntax and keys given twice alone; the second holds the value against the schema.
        attempt.value = parse_json({} if stage == "parse" else schema, attempt.text.strip())
    except EngineError as error:
        return error.message
    return ""


def system_prompt(schema: Any) -> str:
    """What the model is told in either condition: the constraint must not be the only one to know the schema."""
    return f"Reply with one JSON value that fits this JSON schema, and nothing else:\n{json.dumps(schema, ensure_ascii=False)}"


def retry_messages(messages: list[JSON], attempt: Attempt) -> list[JSON]:
    """The conversation with the failed text and what was wrong with it."""
    fault = attempt.error[:500]
    return [
        *messages,
        {"role": "assistant", "content": attempt.text or "(nothing)"},
        {"role": "user", "content": f"That is not acceptable: {fault}. Reply with corrected JSON only."},
    ]


def rates(trials: list[list[Attempt]]) -> JSON:
    """Counts over trials: how many first texts passed each stage, how many ended valid, how many retries it took."""
    first = [attempts[0] for attempts in trials]
    return {
        "trials": len(trials),
        "parsed": sum(attempt.stages["parse"] == PASSED for attempt in first),
        "schema": sum(attempt.stages["schema"] == PASSED for attempt in first),
        "semantics": sum(attempt.stages["semantics"] == PASSED for attempt in first),
        "truncated": sum(attempt.error == CUT for attempt in first),
        "final": sum(attempts[-1].valid for attempts in trials),
        "retries": sum(len(attempts) - 1 for attempts in trials),
    }
