"""Parameters: the stated count of every model with an exact statement, and the worked block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interview.calculators.formulas.models import ROWS, models
from interview.calculators.formulas.registry import CALCULATORS, run
from interview.calculators.formulas.weights import active, group_total, parts, total

CASES = {
    row["id"]: row
    for row in json.loads((Path(__file__).parents[2] / "data" / "calculator_cases.json").read_text("utf-8"))
}
MODELS = json.loads(ROWS.read_text("utf-8"))


def results(**given_inputs: Any) -> dict[str, Any]:
    outcome = run(CALCULATORS["parameters"], {k: str(v) for k, v in given_inputs.items()})
    assert outcome.result, outcome.errors
    return outcome.result.results


@pytest.mark.parametrize("row", MODELS, ids=lambda r: r["id"])
def test_each_model(row: dict[str, Any]) -> None:
    model = models()[row["id"]]
    if row["params_check"] == "exact":
        assert total(model) == row["params_stated"]
    assert total(model) == pytest.approx(row["params_stated"], rel=0.012)
    for group, value in row["params_breakdown"].items():
        if group != "ffn_active":
            assert group_total(model, group) == value
    if row["params_active_computed"]:
        assert active(model) == row["params_active_computed"]
    assert sum(p.params for p in parts(model)) == total(model)
    got = results(model=model.id)
    assert got["parameters"] == total(model) >= got["active_parameters"]


def test_at_least_a_hundred_models_are_exact() -> None:
    assert sum(total(models()[r["id"]]) == r["params_stated"] for r in MODELS) >= 104


def test_gpt2_counts_its_tied_head_once() -> None:
    case = CASES["params-gpt2-small"]["expected"]
    got = results(model="openai-community/gpt2")
    assert got["parameters"] == case["total"]
    assert got["embedding_parameters"] == case["embedding"]
    assert got["positions_parameters"] == case["positions"]
    assert got["lm_head_parameters"] == case["lm_head_counted"]


def test_the_worked_block() -> None:
    got = results(layers=1, hidden=4096, vocabulary=50_000)
    assert got["embedding_parameters"] == 204_800_000
    assert got["attention_parameters_per_block"] == 67_108_864
    assert got["ffn_parameters_per_block"] == 134_217_728


@pytest.mark.parametrize(
    ("dtype", "size"), [("fp32", 4), ("bf16", 2), ("fp8", 1), ("q8_0", 34 / 32), ("mxfp4", 17 / 32)]
)
def test_memory_by_dtype(dtype: str, size: float) -> None:
    got = results(model="meta-llama/Llama-2-7b-hf", dtype=dtype)
    assert got["bytes"] == pytest.approx(6_738_415_616 * size, rel=1e-8)


SMALL = st.integers(1, 64)


@given(SMALL, SMALL, SMALL, st.integers(1, 10**5), st.booleans())
def test_an_own_geometry_adds_up_and_grows(
    layers: int, heads: int, width: int, vocabulary: int, tied: bool
) -> None:
    base = {
        "hidden": 64 * heads,
        "heads": heads,
        "vocabulary": vocabulary,
        "intermediate": width,
        "tied": int(tied),
    }
    one, more = results(layers=layers, **base), results(layers=layers + 1, **base)
    names = ("embedding", "positions", "attention", "ffn", "norms", "lm_head")
    assert one["parameters"] == sum(one[f"{n}_parameters"] for n in names)
    assert more["parameters"] > one["parameters"]
    assert one["lm_head_parameters"] == (0 if tied else one["embedding_parameters"])


def test_incomplete_geometries_name_what_is_missing() -> None:
    outcome = run(CALCULATORS["parameters"], {"hidden": "64"})
    assert [e.name for e in outcome.errors] == ["layers", "vocabulary"]
    outcome = run(CALCULATORS["parameters"], {"model": "gpt2", "hidden": "64"})
    assert [e.name for e in outcome.errors] == ["hidden"]
