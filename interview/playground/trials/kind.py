"""The run kind `trials`: every setting times N seeds, all submitted together."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from interview.playground.kinds import check_text, engine_request
from interview.playground.many import ask_many, tokens_of, traced
from interview.playground.trials.checks import NEEDS_TEXT, RULES, first_number, valid
from interview.playground.trials.form import KNOBS, LONGEST, SETTINGS, TOTAL, TRIALS
from interview.playground.trials.seen import shown
from interview.playground.trials.statistics import parts_at
from interview.runs.kinds import JSON, InputRefused, Job, Kind, RunFailed, register

if TYPE_CHECKING:
    from engine import Engine, Request, Result

OWN = ("settings", "trials", "max_tokens", "seed", "check")


def trials(job: Job) -> JSON:
    """Ask the same thing many times."""
    body = job.input
    job.trace["model"] = job.models.engine.card.to_dict()
    requests = [one_request(body, setting, n) for setting in body["settings"] for n in range(body["trials"])]
    began = time.perf_counter()
    results = ask_many(job, requests)
    seconds = time.perf_counter() - began
    size = body["trials"]
    groups = [results[i : i + size] for i in range(0, len(results), size)]
    settings = [group_seen(job.models.engine, body, group) for group in groups]
    job.trace.update(traced(job.models.engine, results), usage=tokens_of(results), seconds=round(seconds, 3))
    return {"settings": settings, "usage": tokens_of(results), "seconds": round(seconds, 3)}


def one_request(body: JSON, setting: JSON, trial: int) -> Request:
    """One trial: the seed is the first seed plus its number, in every setting."""
    asked = {key: value for key, value in body.items() if key not in OWN}
    sampling = {**setting, "max_tokens": body["max_tokens"], "seed": body["seed"] + trial}
    return engine_request({**asked, "sampling": sampling})


def group_seen(engine: Engine, body: JSON, group: list[Result]) -> JSON:
    """One setting's answers, and the words at which they part."""
    rule, wanted = body["check"]["rule"], body["check"]["text"]
    outputs = [list(result.token_ids) for result in group]
    return {
        "answers": [
            {
                "seed": result.stats["seed"],
                "text": result.text,
                "tokens": list(result.token_ids),
                "finish": result.finish_reason,
                "valid": valid(rule, wanted, result.text, result.finish_reason),
            }
            for result in group
        ],
        "parting": parting(engine, outputs),
    }


def parting(engine: Engine, outputs: list[list[int]]) -> JSON | None:
    """Where outputs stop being all alike: the text before, and what came then, with counts."""
    at = parts_at(outputs)
    if at is None:
        return None
    ways = Counter(output[at] if at < len(output) else None for output in outputs)
    labels = [
        ["the end" if token is None else engine.tokenizer.label(token), n] for token, n in ways.most_common()
    ]
    return {"at": at, "before": engine.tokenizer.decode(outputs[0][:at]), "ways": labels}


def check(body: JSON) -> JSON:
    """An input that came through the API."""
    faults = [name for name, fine in _fields(body).items() if not fine]
    if faults:
        allowed = (
            f"settings: 1 to {SETTINGS} objects of {', '.join(KNOBS)}; trials: 2 to {TRIALS}, {TOTAL} answers in all; "
            f"max_tokens: 1 to {LONGEST}; seed: from 0; check: rule and text"
        )
        raise InputRefused("invalid_request", f"{faults[0]} can't be used. Allowed: {allowed}.", (faults[0],))
    check_text(body, OWN)
    try:
        for setting in body["settings"]:
            one_request(body, setting, 0)
    except RunFailed as error:
        raise InputRefused("invalid_request", str(error), ("settings",)) from error
    return body


def _fields(body: JSON) -> dict[str, bool]:
    settings, rule = body.get("settings"), body.get("check")
    count = len(settings) if isinstance(settings, list) else 0
    return {
        "settings": 0 < count <= SETTINGS
        and all(isinstance(s, dict) and set(s) <= set(KNOBS) for s in settings or []),
        "trials": _whole(body.get("trials"), 2, TRIALS) and count * body["trials"] <= TOTAL,
        "max_tokens": _whole(body.get("max_tokens"), 1, LONGEST),
        "seed": _whole(body.get("seed"), 0, 2**53),
        "check": isinstance(rule, dict)
        and set(rule) == {"rule", "text"}
        and rule["rule"] in [name for name, _ in RULES]
        and isinstance(rule["text"], str)
        and (bool(rule["text"].strip()) or rule["rule"] not in NEEDS_TEXT)
        and (rule["rule"] != "number" or first_number(rule["text"]) is not None),
    }


def _whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


register(
    Kind(
        name="trials",
        title="Trials",
        execute=trials,
        check=check,
        page="playground:trials",
        replays=True,
        shown=shown,
    )
)
