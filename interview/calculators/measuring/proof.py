"""What a measurement says: rows of predicted and measured, and what limits the comparison."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

EXACT, CLOSE, SEEN = "exact", "close", "seen"


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity. `kind`: exact must be equal, close is a model of a machine, seen has no prediction."""

    label: str
    unit: str
    predicted: float | None
    measured: float
    kind: str = EXACT
    note: str = ""

    @property
    def equal(self) -> bool:
        """The same number."""
        return self.predicted == self.measured


@dataclass(frozen=True, slots=True)
class Proof:
    """The rows, in order; `setting` says in one line what was run; `notes` what to bear in mind."""

    setting: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    link: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, as it is stored in the run."""
        return {
            "setting": self.setting,
            "rows": [asdict(row) for row in self.rows],
            "notes": list(self.notes),
            "link": self.link,
            **self.extra,
        }
