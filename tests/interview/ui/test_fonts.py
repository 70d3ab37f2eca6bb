"""The committed fonts: within the budget, declared, licensed, covering what pages write, made by the command."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from fontTools.ttLib import TTFont

from interview.ui import fonts

FOLDER = Path(settings.BASE_DIR) / "static" / "fonts"
CSS = (Path(settings.BASE_DIR) / "static" / "site.css").read_text()
BASE = (Path(settings.BASE_DIR) / "templates" / "base.html").read_text()


def test_together_they_keep_the_budget() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.glob("*.woff2")}
    assert set(sizes) == {f"{face.name}.woff2" for face in fonts.FACES}
    assert sum(sizes.values()) <= fonts.BUDGET_BYTES == 120_000


def test_every_face_is_declared_with_swap_and_only_the_first_is_preloaded() -> None:
    blocks = re.findall(r"@font-face \{.*?\}", CSS, flags=re.S)
    assert len(blocks) == len(fonts.FACES)
    for face, block in zip(fonts.FACES, blocks, strict=True):
        assert f'url("fonts/{face.name}.woff2")' in block and "font-display: swap" in block
    assert re.findall(r'rel="preload" href="\{% static "(.*?)"', BASE) == [
        f"fonts/{fonts.FACES[0].name}.woff2"
    ]


def test_licences_are_kept_beside_them() -> None:
    for face in fonts.FACES:
        family = face.package.removeprefix("fontpkg_").replace("_", "-")
        assert "SIL OPEN FONT LICENSE" in (FOLDER / f"LICENSE-{family}.txt").read_text()


@pytest.mark.parametrize("face", fonts.FACES, ids=lambda face: face.name)
def test_names_that_a_licence_reserves_are_not_used(face: fonts.Face) -> None:
    names = TTFont(FOLDER / f"{face.name}.woff2")["name"]
    family = str(names.getName(1, 3, 1, 0x409))
    assert "Plex" not in family and "Source" not in family


@pytest.mark.parametrize("name", ["prefill-serif", "inter", "prefill-mono"])
def test_they_cover_what_is_written(name: str) -> None:
    covered = TTFont(FOLDER / f"{name}.woff2").getBestCmap()
    text = "Latency–cost “trade-off”… naïve, façade; 2 × 10⁹ ≤ n ≈ 3 µs → 41 % · x² − ½ €"
    assert [c for c in text if ord(c) not in covered] == []


def test_the_command_makes_the_committed_files() -> None:
    face = next(face for face in fonts.FACES if face.name == "prefill-mono-medium")
    made = BytesIO()
    fonts.cut(face).save(made)
    assert made.getvalue() == (FOLDER / f"{face.name}.woff2").read_bytes()


def test_the_command_refuses_to_go_over_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "build", lambda folder: {"huge.woff2": fonts.BUDGET_BYTES + 1})
    with pytest.raises(CommandError, match="120,000"):
        call_command("build_fonts")
