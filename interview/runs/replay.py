"""Replay: the same input with everything pinned, and what came out of it compared token by token."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from interview.accounts.models import User
from interview.runs import kinds
from interview.runs.models import SUCCEEDED, Run, Trace
from interview.runs.services import run_create

JSON = dict[str, Any]
SAME = {
    ("model", "sha256"): "another model file",
    ("model", "weight_format"): "another weight format",
    ("machine", "device"): "another device",
    ("machine", "processor"): "another processor",
    ("machine", "torch"): "another version of torch",
    ("machine", "threads"): "another number of threads",
    ("template", "sha256"): "another chat template",
    ("app_version", None): "another version of this program",
}


class CannotReplay(Exception):
    """This run can't be done again as it was; the message says why."""


def run_replay(run: Run, owner: User) -> Run:
    """Queue the same request again with its seed pinned. Raises CannotReplay, QuotaExceeded."""
    kind = kinds.known(run.kind)
    trace = Trace.objects.filter(run=run).first()
    if kind is None or not kind.replays:
        raise CannotReplay(
            "Runs of this kind can't be replayed: they change something, or depend on more than the model."
        )
    if fault := kinds.remote_fault(run.kind):
        raise CannotReplay(fault)
    if run.erased or trace is None or run.state != SUCCEEDED:
        raise CannotReplay("Only a run that succeeded, and whose texts are still there, can be replayed.")
    pin = kind.pin or pinned
    return run_create(
        owner=owner, kind=run.kind, input=pin(run.input, trace.body), origin={"replay_of": str(run.pk)}
    )


def pinned(request: JSON, trace: JSON) -> JSON:
    """The request with the seed that was drawn for it; one that names its seed is pinned already."""
    if request.get("seed") is not None:
        return request
    seed = trace.get("seed")
    first = seed[0] if isinstance(seed, list) and seed else seed
    if not isinstance(first, int):
        return request
    rest = {key: value for key, value in request.items() if key != "seed"}
    return {**rest, "sampling": {**(request.get("sampling") or {}), "seed": first}}


@dataclass(frozen=True)
class Difference:
    """The first token that differs: its choice and place, and both spellings (None where one had ended)."""

    choice: int
    index: int
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Replayed:
    """How a replay came out. `doubts` are the reasons why equality could not be expected; none means it could.

    `hidden` is set where the traces keep no texts: hashes then say whether the tokens are the same, not which differ;
    `same` is None where not even they can.
    """

    of: uuid.UUID
    tokens: int
    difference: Difference | None
    doubts: tuple[str, ...]
    hidden: bool = False
    same: bool | None = None


def replayed(run: Run, owner: User | None) -> Replayed | None:
    """The comparison of an ended replay with its original; None where there is nothing to compare."""
    original_id = run.origin.get("replay_of")
    if not original_id or run.state != SUCCEEDED:
        return None
    traces = {
        trace.run_id: trace.body
        for trace in Trace.objects.filter(run__in=[run.pk, original_id], run__owner=owner)
    }
    of = uuid.UUID(original_id)
    if len(traces) < 2:
        return None
    before, after = traces[of], traces[run.pk]
    if any(is_hidden(trace) for trace in traces.values()):
        tokens = (after.get("usage") or {}).get("completion_tokens", 0)
        return Replayed(
            of, tokens, None, doubts(before, after), hidden=True, same=hashes_agree(before, after)
        )
    tokens = sum(len(choice) for choice in token_rows(after))
    return Replayed(of, tokens, first_difference(before, after), doubts(before, after))


def is_hidden(trace: JSON) -> bool:
    """Whether the tokens were replaced by their hash (TRACE_TEXT=hash)."""
    return any(_hash_of(trace, name) for name in ("choices", "per_token"))


def _hash_of(trace: JSON, name: str) -> str | None:
    value = trace.get(name)
    return value["sha256"] if isinstance(value, dict) and value.get("erased") else None


def hashes_agree(before: JSON, after: JSON) -> bool | None:
    """Whether two records without texts have the same tokens; None where times were hashed with them, or one has texts."""
    for name in ("token_ids", "choices"):
        one, two = _hash_of(before, name), _hash_of(after, name)
        if one and two and (one == two or name == "token_ids" or before.get("kind") != "chat"):
            return one == two
    return None


def token_rows(trace: JSON) -> list[list[tuple[int, str]]]:
    """(id, text) of every token, one list a choice."""
    choices = trace.get("choices") or [{"per_token": trace.get("per_token")}]
    rows = [choice.get("per_token") or [] if isinstance(choice, dict) else [] for choice in choices]
    return [[(row[1], row[2]) for row in listed] if isinstance(listed, list) else [] for listed in rows]


def first_difference(before: JSON, after: JSON) -> Difference | None:
    """Where two traces part; None when every choice has the same tokens."""
    one, two = token_rows(before), token_rows(after)
    for choice in range(max(len(one), len(two))):
        a = one[choice] if choice < len(one) else []
        b = two[choice] if choice < len(two) else []
        for index in range(max(len(a), len(b))):
            left = a[index] if index < len(a) else None
            right = b[index] if index < len(b) else None
            if left is None or right is None or left[0] != right[0]:
                return Difference(choice, index, left and left[1], right and right[1])
    return None


def doubts(before: JSON, after: JSON) -> tuple[str, ...]:
    """Why the same tokens could not be expected."""
    found = [
        words for (group, part), words in SAME.items() if _at(before, group, part) != _at(after, group, part)
    ]
    shapes = [_shape(before), _shape(after)]
    if shapes[0]["batch"] != shapes[1]["batch"] or (shapes[0]["batch"] or 1) > 1:
        found.append("other runs shared the batch, and sums over another shape round differently")
    if shapes[0]["cached"] != shapes[1]["cached"]:
        found.append(
            f"the prefix cache gave {shapes[0]['cached']} tokens the first time and {shapes[1]['cached']} now"
        )
    return tuple(found)


def _at(trace: JSON, group: str, part: str | None) -> Any:
    value = trace.get(group)
    return value if part is None else (value or {}).get(part)


def _shape(trace: JSON) -> JSON:
    stats = trace.get("stats") or {}
    listed = stats if isinstance(stats, list) else [stats]
    sizes = [one.get("batch_size_max") or 1 for one in listed]
    # The choices of one request are batch mates by intent: only company beyond them is a doubt.
    batch = max(sizes, default=1)
    return {
        "batch": max(1, batch - len(listed) + 1),
        "cached": (trace.get("usage") or {}).get("cached_tokens", 0),
    }
