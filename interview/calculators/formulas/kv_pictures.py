"""KV cache pictures: bytes by tokens, and the same input under wrong assumptions, with their tables."""

from __future__ import annotations

from dataclasses import replace

from interview.calculators.formulas.kv_load import Load
from interview.calculators.formulas.kv_modes import MODES, Runtime
from interview.calculators.formulas.kv_naive import Naive, naive
from interview.calculators.formulas.result import Chart, Series, Table
from interview.calculators.formulas.units import both_bytes

SAMPLES = 24
MEANING = {
    "needed": "{}: what the model must remember",
    "llama.cpp": "{}: what it allocates",
    "vllm": "{}: the pages it takes",
}


def _lengths(load: Load) -> list[int]:
    top = max(2 * load.tokens, SAMPLES)
    marks = {top * i // SAMPLES for i in range(1, SAMPLES + 1)} | {load.tokens}
    marks |= {g.window for g in load.geometry.groups if g.window and g.window < top}
    return sorted(marks)


def curve(load: Load) -> Chart:
    lengths = _lengths(load)
    mode = load.runtime.mode
    series = [_series("this cache" if mode == "needed" else mode, load, lengths)]
    for wrong in _curves_beside(load):
        other = replace(load, geometry=wrong.geometry, dtype=wrong.dtype)
        series.append(_series(wrong.short, other, lengths))
    return Chart(
        kind="line",
        title="Bytes by tokens",
        x_label="tokens",
        y_label="KV cache",
        y_unit="bytes",
        series=tuple(series),
        now=float(load.tokens),
    )


def _curves_beside(load: Load) -> list[Naive]:
    """The wrong assumption worth drawing: ignored windows before ignored heads."""
    found = {wrong.id: wrong for wrong in naive(load.geometry, load.dtype, load.tokens)}
    order = ("no_window", "full_mla_heads", "query_heads", "no_factor_2")
    return [found[name] for name in order if name in found][:1]


def _series(label: str, load: Load, lengths: list[int]) -> Series:
    plan = load.plan()
    return Series(label, tuple((float(n), float(plan.total(n, load.sequences))) for n in lengths))


def wrong_bars(load: Load) -> Chart:
    rows = _answers(load)
    points = tuple((float(i), float(total)) for i, (_, _, total) in enumerate(rows))
    return Chart(
        kind="bars",
        title="Which tool is right?",
        x_label="assumption",
        y_label="KV cache",
        y_unit="bytes",
        series=(Series("bytes", points),),
        labels=tuple(assumption for _, assumption, _ in rows),
        shown=0,
        table=naive_table(load),
    )


def _answers(load: Load) -> list[tuple[str, str, int]]:
    """(id, assumption, bytes): the needed size first, then every wrong one."""
    needed = replace(load, runtime=Runtime(shared_prefix=load.runtime.shared_prefix))
    rows = [("right", "what the model must remember", needed.total())]
    for wrong in naive(load.geometry, load.dtype, load.tokens):
        other = replace(needed, geometry=wrong.geometry, dtype=wrong.dtype, tokens=wrong.tokens)
        rows.append((wrong.id, wrong.assumption, other.total()))
    return rows


def naive_table(load: Load) -> Table:
    rows = _answers(load)
    right = rows[0][2]
    return Table(
        caption="Which tool is right? The same input under common wrong assumptions",
        columns=("assumption", "bytes", "GB (GiB)", "times the right value"),
        rows=tuple((text, total, both_bytes(total), round(total / right, 3)) for _, text, total in rows),
    )


def modes_table(load: Load) -> Table:
    rows = []
    for mode, title in MODES:
        total = replace(load, runtime=replace(load.runtime, mode=mode)).total()
        rows.append((MEANING[mode].format(title), total, both_bytes(total)))
    return Table("Three honest answers", ("counted as", "bytes", "GB (GiB)"), tuple(rows))
