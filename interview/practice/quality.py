"""The assessor's own quality page: figures of the committed evaluation, as its command wrote them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

RESULT = "engine/grading_result.json"
COLUMNS = ("correct", "partial", "incorrect", "contradictory", "not_assessed")
SETS = {
    "beetle": "Electronics (Beetle)",
    "science": "Science (SciEntsBank)",
    "networks": "Networks (SAF)",
    "bank": "Question bank, key points as reference",
}
# set -> (2-way macro-F1 asked for, contradictory answers that may be accepted)
TARGETS = {"beetle": (0.77, 0.12), "science": (0.72, 0.12)}
KINDS = {
    "strong": "strong",
    "paraphrase": "strong, other words",
    "partial": "partial",
    "weak": "weak, a misconception",
    "contradictory": "contradictory",
    "stuffed": "list of terms",
    "off_topic": "off topic",
}
MADE = {
    "question_copied": "The question as the answer",
    "question_three_times": "The question three times",
    "reference_shuffled": "The reference with its words shuffled",
    "reference_denied": "The reference after “It is not true that”",
}


@cache
def result() -> Mapping[str, Any]:
    """The committed result; it changes only with a release."""
    return dict(json.loads((Path(settings.BASE_DIR) / RESULT).read_text("utf-8")))


@require_safe
def quality(request: HttpRequest) -> HttpResponse:
    """How often the assessor is right, on answers that people labelled."""
    found = result()
    context = {
        "result": found,
        "sets": [_set(name, row) for name, row in found["sets"].items()],
        "kinds": [_kind(KINDS[kind], row) for kind, row in found["bank"]["verdicts"].items()],
        "made": [(MADE[name], row) for name, row in found["made"].items()],
        "columns": [column.replace("_", " ") for column in COLUMNS],
    }
    return render(request, "practice/quality.html", context)


def _set(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    wanted, allowed = TARGETS.get(name, (None, None))
    accepted = row.get("contradictory_accepted")
    return {
        **row,
        "name": SETS[name],
        "wanted": wanted,
        "allowed": allowed,
        "reached": wanted is None or row["macro_f1_2way"] >= wanted,
        "kept": allowed is None or accepted is None or accepted <= allowed,
        "rows": [(gold, [cells[column] for column in COLUMNS]) for gold, cells in row["confusion"].items()],
    }


def _kind(name: str, row: Mapping[str, int]) -> dict[str, Any]:
    total = sum(row.values())
    return {
        "name": name,
        "total": total,
        "accepted": row.get("correct", 0) / total,
        "cells": [row.get(column, 0) for column in COLUMNS],
    }
