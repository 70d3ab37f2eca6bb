"""How long a request waited, was read and was written, from clock readings in seconds."""

from __future__ import annotations

import time
from itertools import pairwise


def timings(
    submitted: float, started: float | None, prefilled: float | None, times: list[float]
) -> dict[str, float | None]:
    """Milliseconds of each stage up to now and between tokens; None where there was no such moment."""
    end = time.perf_counter()
    gaps = sorted(1000 * (b - a) for a, b in pairwise(times))
    return {
        "queue_ms": _since(submitted, started or end),
        "prefill_ms": _since(started, prefilled),
        "ttft_ms": _since(submitted, times[0] if times else None),
        "itl_ms_p50": percentile(gaps, 0.5),
        "itl_ms_p95": percentile(gaps, 0.95),
        "itl_ms_max": gaps[-1] if gaps else None,
        "tokens_per_s": len(gaps) / (times[-1] - times[0]) if gaps else None,
        "total_ms": 1000 * (end - submitted),
    }


def _since(start: float | None, end: float | None) -> float | None:
    """Milliseconds between two clock readings, None where one is missing."""
    return None if start is None or end is None else 1000 * (end - start)


def percentile(ordered: list[float], share: float) -> float | None:
    """The nearest-rank percentile of ascending values; None when there are none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
