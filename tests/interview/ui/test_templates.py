"""Rules that every template keeps: nothing inline, known icons, no long files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import get_template

from interview.ui.icons import SHAPES

ROOT = Path(settings.BASE_DIR) / "templates"
TEMPLATES = sorted(ROOT.rglob("*.html"))
INLINE = {
    "a script in the page": r"<script(?![^>]*\bsrc=)",
    "a style in the page": r"<style\b|\sstyle\s*=",
    "an event attribute": r"\son[a-z]+\s*=|\shx-on",
    "an address that is a script": r"javascript:",
    "a value that htmx would evaluate": r"hx-(vals|headers)\s*=\s*['\"]?js:|hx-trigger=\"[^\"]*\[",
    "a foreign origin": r"<(script|link|img)[^>]+(src|href)=\"https?://",
}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_nothing_is_inline(path: Path) -> None:
    text = path.read_text()
    assert [what for what, pattern in INLINE.items() if re.search(pattern, text)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_it_compiles_and_is_short(path: Path) -> None:
    get_template(name(path))
    assert len(path.read_text().splitlines()) <= 120


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_its_icons_are_drawn(path: Path) -> None:
    assert set(re.findall(r'{%\s*icon "([\w-]+)"', path.read_text())) <= set(SHAPES)


@pytest.mark.parametrize(
    "path", sorted((ROOT.parent / "static" / "js").glob("*.js")), ids=lambda path: path.name
)
def test_scripts_are_small_and_evaluate_nothing(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 160
    assert not re.search(r"\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write", text)
