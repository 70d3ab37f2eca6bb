"""Make the site's web fonts: find each face in its package, cut it to what is used, write WOFF2."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

BUDGET_BYTES = 120_000  # all faces together
LATIN = [*range(0x20, 0x7F), *range(0xA0, 0x100), 0x131, 0x152, 0x153, 0x160, 0x161, 0x17D, 0x17E]
MARKS = [ord(c) for c in "\u2009\u202f–—‘’“”•…·×÷±≤≥≈≠→←↑↓∞∑√−²³¹⁰⁴⁵⁶⁷⁸⁹⁻₀₁₂₃₄₅₆₇₈₉½€αβγδεθλμσπφΔΣ∂✓"]
SIGNS = [ord(c) for c in "✗⏎↵●○⌘⇧"]
BLOCKS = list(range(0x2581, 0x2590))


@dataclass(frozen=True, slots=True)
class Face:
    """One output file: its package and source file, axis limits ({axis: value or (low, high)}), features kept."""

    name: str
    package: str
    source: str
    axes: dict[str, float | tuple[float, float]]
    features: tuple[str, ...] = ("kern", "liga", "ccmp", "locl", "mark")
    characters: tuple[int, ...] = (*LATIN, *MARKS)
    family: str = ""  # a new family name, where the licence reserves the old one for unchanged files


FACES = (
    Face(
        "prefill-serif",
        "fontpkg_source_serif_4",
        "SourceSerif4[opsz,wght].ttf",
        {"opsz": 18, "wght": (400, 600)},
        family="Prefill Serif",
    ),
    Face(
        "prefill-serif-italic",
        "fontpkg_source_serif_4",
        "SourceSerif4-Italic[opsz,wght].ttf",
        {"opsz": 18, "wght": 400},
        family="Prefill Serif Italic",
    ),
    Face(
        "inter",
        "fontpkg_inter",
        "Inter[opsz,wght].ttf",
        {"opsz": 14, "wght": (400, 600)},
        ("kern", "ccmp", "locl", "tnum"),
        (*LATIN, *MARKS, *SIGNS),
    ),
    Face(
        "prefill-mono",
        "fontpkg_ibm_plex_mono",
        "IBMPlexMono-Regular.ttf",
        {},
        ("ccmp",),
        (*LATIN, *MARKS, *BLOCKS),
        family="Prefill Mono",
    ),
    Face(
        "prefill-mono-medium",
        "fontpkg_ibm_plex_mono",
        "IBMPlexMono-Medium.ttf",
        {},
        ("ccmp",),
        family="Prefill Mono Medium",
    ),
)


def build(folder: Path) -> dict[str, int]:
    """Write every face and its licence into `folder`; returns {file name: bytes}."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = {}
    for face in FACES:
        path = folder / f"{face.name}.woff2"
        cut(face).save(path)
        sizes[path.name] = path.stat().st_size
        copy_licence(face, folder)
    return sizes


def cut(face: Face) -> TTFont:
    """The face with its axes limited and only its characters and features left, ready to save as WOFF2."""
    font = TTFont(str(files(face.package) / "files" / face.source), recalcTimestamp=False)
    options = Options(
        layout_features=list(face.features), hinting=False, desubroutinize=True, notdef_outline=True
    )
    options.name_IDs = [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        13,
        14,
    ]  # names, version, licence and its address stay inside the file
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=face.characters)
    subsetter.subset(font)
    if face.axes:
        font = instancer.instantiateVariableFont(font, dict(face.axes))
    if face.family:
        rename(font, face.family)
    font.flavor = "woff2"
    return font


def rename(font: TTFont, family: str) -> None:
    """Give a changed font its own name: family (1), full (4) and PostScript (6) name."""
    for name_id, text in ((1, family), (4, family), (6, family.replace(" ", ""))):
        font["name"].setName(text, name_id, 3, 1, 0x409)
    font["name"].names = [n for n in font["name"].names if n.nameID not in (3, 16, 17) and n.platformID == 3]


def copy_licence(face: Face, folder: Path) -> None:
    """Keep the family's licence text beside the files made from it."""
    text = (files(face.package) / "LICENSE").read_text(encoding="utf-8")
    family = face.package.removeprefix("fontpkg_").replace("_", "-")
    (folder / f"LICENSE-{family}.txt").write_text(text, encoding="utf-8")
