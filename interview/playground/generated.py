"""What a generation left, as its page shows it: tokens, what stood beside each, and how to go on from another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import Http404

from interview.runs.models import Run

STEP_NAMES = {
    "logit_bias": "bias",
    "repetition_penalty": "repetition",
    "frequency_presence": "frequency, presence",
    "no_repeat_ngram": "no n-gram twice",
    "constraint": "grammar",
    "temperature": "temperature",
    "top_k": "top-k",
    "top_p": "top-p",
    "min_p": "min-p",
    "typical_p": "typical-p",
    "greedy": "greedy",
}


def shown(run: Run, given: Mapping[str, str], address: str) -> tuple[str, dict[str, Any]]:
    """The tokens for whoever has the link, each a link on `address` to what it could have been."""
    context = {"token": token_of(run, given.get("token")), "at": f"{address}?shared"}
    return "playground/_generated.html", context


@dataclass(frozen=True)
class Candidate:
    """A token that could have stood there, with its probability before and after each step."""

    token_id: int
    text: str
    probability: float
    kept: float
    after: list[float]
    chosen: bool


@dataclass(frozen=True)
class Token:
    """One generated token and what the model weighed up for it."""

    index: int
    token_id: int
    text: str
    logprob: float | None
    entropy: float | None
    masked: float | None
    steps: list[tuple[str, int]]
    candidates: list[Candidate]

    @property
    def probability(self) -> float | None:
        """Before any step."""
        return None if self.logprob is None else math.exp(self.logprob)

    @property
    def entropy_bits(self) -> float | None:
        return None if self.entropy is None else self.entropy / math.log(2)

    @property
    def effective(self) -> float | None:
        """The number of equally likely tokens that would be as uncertain."""
        return None if self.entropy is None else math.exp(self.entropy)


def token_of(run: Run, index: str | None) -> Token | None:
    """The token named by `?token=`; 404 for one that the run doesn't have."""
    if not index:
        return None
    rows = (run.output or {}).get("per_token", [])
    if not index.isdecimal() or len(index) > 6 or int(index) >= len(rows):
        raise Http404("No such token.")
    return token_at(run.output or {}, int(index))


def token_at(output: dict[str, Any], index: int) -> Token:
    """A token of a stored result."""
    _, token_id, text, logprob, _ = output["per_token"][index]
    seen = (output.get("steps") or {index: {}})[index]
    candidates = [
        Candidate(i, label, p, kept, after, i == token_id) for i, label, p, kept, after in seen.get("top", [])
    ]
    label = next((c.text for c in candidates if c.chosen), text)
    return Token(
        index=index,
        token_id=token_id,
        text=label or text,
        logprob=logprob,
        entropy=seen.get("entropy"),
        masked=seen.get("masked"),
        steps=[(STEP_NAMES.get(name, name), kept) for name, kept in seen.get("steps", [])],
        candidates=candidates,
    )


def forked(source: Run, index: int, token_id: int) -> dict[str, Any]:
    """The input of a run that keeps everything before a token and goes on from another. Raises Http404."""
    output = source.output or {}
    if index >= len(output.get("per_token", [])):
        raise Http404("No such token.")
    found = next((c for c in token_at(output, index).candidates if c.token_id == token_id), None)
    if found is None:
        raise Http404("No such token.")
    before = source.input.get("fork", {}).get("text", "")
    text = before + "".join(row[2] for row in output["per_token"][:index]) + found.text
    kept = [*source.input.get("continue_ids", []), *output["token_ids"][:index], token_id]
    fork = {"run": str(source.pk), "index": index, "token": token_id, "text": text}
    earlier = source.input.get("fork", {}).get("kept", [])
    if len(earlier) == len(source.input.get("continue_ids", [])):  # forks of before it was noted have none
        rows = [[row[1], row[2]] for row in output["per_token"][:index]]
        fork["kept"] = [*earlier, *rows, [token_id, found.text]]
    return {**source.input, "continue_ids": kept, "fork": fork}
