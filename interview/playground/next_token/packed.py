"""Every logit of one position in a few kilobytes: sorted, as whole steps of 1/1024, differences compressed."""

from __future__ import annotations

import base64
import zlib
from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise

STEP = 1024


def pack(ordered: Sequence[float]) -> str:
    """Logits in descending order; what is lost is at most half a step, 0.0005."""
    whole = [round(logit * STEP) for logit in ordered]
    gaps = array("I", [0, *(above - below for above, below in pairwise(whole))])
    return f"{whole[0]}:{base64.b64encode(zlib.compress(gaps.tobytes(), 6)).decode()}"


def unpack(text: str) -> list[float]:
    """The logits that were packed, in descending order."""
    first, _, body = text.partition(":")
    gaps = array("I")
    gaps.frombytes(zlib.decompress(base64.b64decode(body)))
    return [(int(first) - below) / STEP for below in accumulate(gaps)]
