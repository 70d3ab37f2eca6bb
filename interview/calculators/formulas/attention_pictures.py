"""Pictures of attention's cost: growth with the prompt, and what a prompt is made of."""

from __future__ import annotations

from interview.calculators.formulas.attention_flops import prefill_flops, step_flops
from interview.calculators.formulas.models import Geometry
from interview.calculators.formulas.result import Chart, Series, Table
from interview.calculators.formulas.weights import parts

SAMPLES = 24


def pictures(model: Geometry, tokens: int, users: int, mask: str) -> tuple[Chart, ...]:
    """Growth by length, and the parts."""
    return _growth(model, tokens, users, mask), _by_part(model, tokens, users, mask)


def _growth(model: Geometry, tokens: int, users: int, mask: str) -> Chart:
    lengths = sorted({max(1, 2 * tokens * i // SAMPLES) for i in range(1, SAMPLES + 1)} | {tokens})
    costs = [(n, prefill_flops(model, n, mask)) for n in lengths]
    both = tuple((float(n), float(users * (a + b))) for n, (a, b) in costs)
    linear = tuple((float(n), float(users * a)) for n, (a, _) in costs)
    return Chart(
        kind="line",
        title="Prefill FLOPs by prompt length",
        x_label="tokens",
        y_label="FLOPs",
        y_unit="FLOPs",
        series=(Series("with attention", both), Series("matrices alone", linear)),
        now=float(tokens),
    )


def _by_part(model: Geometry, tokens: int, users: int, mask: str) -> Chart:
    matrices = {"attention": 0, "ffn": 0}
    for part in parts(model):
        if part.group in matrices:
            matrices[part.group] += part.used_matrix
    factor = 2 * tokens * users
    shown = [
        ("q, k, v, o projections", factor * matrices["attention"]),
        ("feed-forward", factor * matrices["ffn"]),
        ("output head", factor * model.vocab_size * model.hidden_size),
        ("scores and weighted sums", users * prefill_flops(model, tokens, mask)[1]),
    ]
    points = tuple((float(i), float(n)) for i, (_, n) in enumerate(shown))
    labels = tuple(name for name, _ in shown)
    return Chart(
        "bars",
        "Prefill by part",
        "part",
        "FLOPs",
        (Series("FLOPs", points),),
        "FLOPs",
        labels=labels,
        shown=3,
    )


def doubling(model: Geometry, tokens: int, mask: str) -> Table:
    """FLOPs of a prompt of this length, of twice it, and so on."""
    rows = []
    for factor in (1, 2, 4, 8):
        n = tokens * factor
        linear, attention = prefill_flops(model, n, mask)
        step = sum(step_flops(model, n))
        rows.append((n, n * n, linear, attention, step, sum(prefill_flops(model, n + 1, mask))))
    columns = (
        "tokens",
        "pairs n²",
        "matrix FLOPs",
        "attention FLOPs",
        "next token, cached",
        "next token, no cache",
    )
    return Table("When the prompt doubles (one sequence)", columns, tuple(rows))
