"""What came of a structured run, as its page and its shared link show it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from interview.playground.structured.contracts import CONTRACTS
from interview.playground.trials.statistics import wilson
from interview.runs.models import Run

MEASURES = (
    ("parsed", "parse: one JSON value, no key twice"),
    ("schema", "schema: fits the JSON schema"),
    ("semantics", "semantics: keeps the rules too"),
    ("truncated", "cut off at the token limit"),
    ("final", "valid at the end, retries included"),
)


def title_of(run: Run) -> str:
    """What a run was held to, in words."""
    known = CONTRACTS.get(run.input["contract"])
    return known.title if known else {"schema": "Your schema", "model": "Your model"}[run.input["contract"]]


def shown(run: Run, given: Mapping[str, str], address: str) -> tuple[str, dict[str, Any]]:
    """The part of the page that whoever has the link reads."""
    return "playground/_structured.html", seen(run)


def seen(run: Run) -> dict[str, Any]:
    """The contract, and the share of texts that passed each stage."""
    known = CONTRACTS.get(run.input["contract"])
    context: dict[str, Any] = {
        "title": title_of(run),
        "schema": json.dumps(run.input["schema"], indent=2, ensure_ascii=False),
        "rules": known.rules if known else (),
    }
    if run.output:
        context |= {"measures": measures(run.output["conditions"]), "steps": run.output["steps"]}
        context["forced"] = sum(step["forced"] for step in run.output["steps"])
    return context


def measures(conditions: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a measure: the count and its 95% interval under each condition."""
    return [
        {
            "label": label,
            "cells": [
                {"condition": condition, **_cell(part["rates"], name)}
                for condition, part in conditions.items()
            ],
        }
        for name, label in MEASURES
    ]


def _cell(found: dict[str, int], name: str) -> dict[str, Any]:
    interval = wilson(found[name], found["trials"])
    return {
        "count": found[name],
        "trials": found["trials"],
        "low": round(100 * interval.low),
        "high": round(100 * interval.high),
    }
