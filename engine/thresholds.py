"""The numbers that the gates compare with, made by `python -m engine calibrate` and stored with their version."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.errors import ModelError

STORED = Path(__file__).parent / "ask_thresholds.json"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`relevance`: the retrieval floor; `stated`: the reader's probability; `stated_alone`: the same without an
    adapter, from the model's own yes and no; `share`: of a claim's words that its citation must have.
    """

    version: str
    relevance: float
    stated: float
    stated_alone: float
    share: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return asdict(self)


def load_thresholds(path: Path = STORED) -> Thresholds:
    """The stored thresholds. Raises `ModelError` when the file is missing or not of this shape."""
    try:
        data = json.loads(path.read_text())
        return Thresholds(
            str(data["version"]),
            *(float(data[name]) for name in ("relevance", "stated", "stated_alone", "share")),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} can't be read: {error!r}; make it again with calibrate"
        raise ModelError("thresholds_missing", message) from error
