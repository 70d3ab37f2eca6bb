"""Contrast of the colour tokens, computed from site.css for both themes (WCAG 2.2)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

CSS = (Path(settings.BASE_DIR) / "static" / "site.css").read_text()
TOKENS = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", CSS)}
THEMES = ["light", "dark"]
DIRECTED = {
    "paper": ["#FBFAF6", "#151412"],
    "sheet": ["#FFFFFF", "#1D1B19"],
    "ink": ["#1B1A18", "#F0EDE6"],
    "ink-2": ["#55524C", "#B5B0A6"],
    "ink-3": ["#8A867E", "#7F7A71"],
    "rule": ["#E4E0D6", "#33302C"],
    "accent": ["#1F5FBF", "#7FB0FF"],
    "met": ["#1E7A46", "#6CCB93"],
    "partial": ["#9A6400", "#E5B04A"],
    "contradicted": ["#B3261E", "#FF8A80"],
}
GROUNDS = ["paper", "sheet", "wash"]
CHIPS = [f"token-{n}" for n in range(1, 7)]
STATES = ["met", "partial", "contradicted"]


def luminance(colour: str) -> float:
    """Relative luminance, 0..1 (WCAG 2.2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str, theme: int) -> float:
    """Contrast ratio of two tokens in a theme, 1..21."""
    high, low = sorted((luminance(TOKENS[one][theme]), luminance(TOKENS[two][theme])), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_measure_itself() -> None:
    assert luminance("#FFFFFF") == pytest.approx(1)
    assert (luminance("#FFFFFF") + 0.05) / (luminance("#767676") + 0.05) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("name", DIRECTED)
def test_tokens_are_the_art_directions(name: str) -> None:
    assert TOKENS[name] == DIRECTED[name]


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
@pytest.mark.parametrize("ground", [*GROUNDS, *CHIPS])
def test_reading_text_is_aaa(ground: str, theme: int) -> None:
    assert contrast("ink", ground, theme) >= 7


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
@pytest.mark.parametrize(
    "ground", [*GROUNDS, *CHIPS, "accent-wash", "met-wash", "partial-wash", "contradicted-wash"]
)
def test_quiet_text_is_aa(ground: str, theme: int) -> None:
    assert contrast("ink-2", ground, theme) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
@pytest.mark.parametrize("ground", ["paper", "sheet"])
def test_quiet_reading_text_is_aaa(ground: str, theme: int) -> None:
    assert contrast("ink-2", ground, theme) >= 7


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
@pytest.mark.parametrize("colour", ["accent", "accent-deep", *STATES])
@pytest.mark.parametrize("ground", GROUNDS)
def test_links_and_verdicts_are_aa(colour: str, ground: str, theme: int) -> None:
    assert contrast(colour, ground, theme) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
@pytest.mark.parametrize("state", [*STATES, "accent"])
def test_states_are_aa_on_their_own_wash(state: str, theme: int) -> None:
    assert contrast(state, f"{state}-wash", theme) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
def test_the_primary_button_is_aa(theme: int) -> None:
    assert contrast("on-accent", "accent", theme) >= 4.5
    assert contrast("on-accent", "accent-deep", theme) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
@pytest.mark.parametrize("ground", ["paper", "sheet"])
def test_edges_of_controls_and_the_focus_ring_can_be_seen(ground: str, theme: int) -> None:
    assert contrast("ink-3", ground, theme) >= 3
    assert contrast("accent", ground, theme) >= 3


@pytest.mark.parametrize("theme", [0, 1], ids=THEMES)
def test_token_washes_are_equally_light(theme: int) -> None:
    values = [luminance(TOKENS[chip][theme]) for chip in CHIPS]
    assert max(values) / min(values) < 1.25


def test_the_faintest_ink_never_colours_text() -> None:
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", CSS)
    texts = [
        selector.strip() for selector, body in rules if re.search(r"(?<![\w-])color: var\(--ink-3\)", body)
    ]
    assert [selector for selector in texts if ".icon" not in selector] == []
