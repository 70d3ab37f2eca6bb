"""Ready settings of the generate page, each with what it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FACTS = "Ada Flint ordered three lamps on 4 May and paid 87 euros. Give her name, the number of lamps and the amount, one a line."
SUM = "What is 2 + 2? Answer with the number."


@dataclass(frozen=True)
class Preset:
    """Values of the form and one line on why they belong together."""

    name: str
    title: str
    why: str
    values: dict[str, Any] = field(default_factory=dict)


PRESETS = (
    Preset(
        "extraction",
        "Extraction",
        "Temperature 0: the same input gives the same fields, and a check can follow.",
        {"prompt": FACTS, "temperature": 0, "top_p": 1, "max_tokens": 48, "stop": "\n\n"},
    ),
    Preset(
        "drafting",
        "Drafting",
        "A warm distribution with a cut tail: wording varies, nonsense is filtered.",
        {
            "prompt": "Write two sentences inviting neighbours to a street party.",
            "temperature": 0.9,
            "top_p": 0.92,
            "presence_penalty": 0.3,
            "max_tokens": 96,
        },
    ),
    Preset(
        "greedy",
        "2 + 2, greedy",
        "The likeliest token each time: nothing varies.",
        {"prompt": SUM, "temperature": 0, "top_p": 1, "max_tokens": 24},
    ),
    Preset(
        "nucleus",
        "2 + 2, T 0.7, top-p 0.9",
        "Wording may vary, what is likely stays likely.",
        {"prompt": SUM, "temperature": 0.7, "top_p": 0.9, "max_tokens": 24},
    ),
    Preset(
        "hot",
        "2 + 2, T 1.5",
        "The set of possible tokens widens; the facts don't move.",
        {"prompt": SUM, "temperature": 1.5, "top_p": 1, "max_tokens": 24},
    ),
)


def preset(name: str) -> Preset | None:
    """The preset of this name."""
    return next((one for one in PRESETS if one.name == name), None)
