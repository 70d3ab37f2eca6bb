"""The unit converter."""

from __future__ import annotations

from typing import Any

from interview.accounts.models import User
from interview.tools.registry import Tool, ToolRefused, register

# unit: (what it measures, how many base units it is)
UNITS: dict[str, tuple[str, float]] = {
    "bit": ("data", 0.125),
    "B": ("data", 1),
    "kB": ("data", 1e3),
    "MB": ("data", 1e6),
    "GB": ("data", 1e9),
    "TB": ("data", 1e12),
    "KiB": ("data", 2**10),
    "MiB": ("data", 2**20),
    "GiB": ("data", 2**30),
    "TiB": ("data", 2**40),
    "ms": ("time", 1e-3),
    "s": ("time", 1),
    "min": ("time", 60),
    "h": ("time", 3600),
    "d": ("time", 86_400),
    "mm": ("length", 1e-3),
    "cm": ("length", 1e-2),
    "m": ("length", 1),
    "km": ("length", 1e3),
    "in": ("length", 0.0254),
    "ft": ("length", 0.3048),
    "mi": ("length", 1609.344),
    "g": ("mass", 1),
    "kg": ("mass", 1e3),
    "oz": ("mass", 28.349523125),
    "lb": ("mass", 453.59237),
}


def convert(user: User, arguments: dict[str, Any]) -> dict[str, Any]:
    """value in `to`. Raises ToolRefused for units that measure different things."""
    (kind, size), (other, target) = UNITS[arguments["from"]], UNITS[arguments["to"]]
    if kind != other:
        raise ToolRefused(f"{arguments['from']} measures {kind}, {arguments['to']} measures {other}")
    return {"value": arguments["value"] * size / target, "unit": arguments["to"]}


register(
    Tool(
        name="convert",
        title="Unit converter",
        description="Converts a value from one unit to another of the same kind",
        parameters={
            "type": "object",
            "properties": {
                "value": {"type": "number", "minimum": -1e15, "maximum": 1e15},
                "from": {"enum": list(UNITS)},
                "to": {"enum": list(UNITS)},
            },
            "required": ["value", "from", "to"],
            "additionalProperties": False,
        },
        run=convert,
    )
)
