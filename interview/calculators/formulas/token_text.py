"""What is in a text that the eye does not see: invisible characters, look-alikes, forms that normalise."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from interview.calculators.formulas.result import Table, Value

SPACES = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍"}
CLUSTER = re.compile(
    r".[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u0655\u0900-\u0903\u093c\u09bc\u1161-\u11ff\u3099\u309a]*",
    re.DOTALL,
)
LOOK_ALIKE = ("CYRILLIC", "GREEK")


def shown(data: bytes) -> str:
    """A token's bytes for reading: visible spaces, and hex for a part of a character."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return " ".join(f"{b:02x}" for b in data)
    return "".join(SPACES.get(c) or (c if c.isprintable() else f"U+{ord(c):04X}") for c in text)


def invisible(text: str) -> list[str]:
    """`U+200B ZERO WIDTH SPACE × 2` for every kind of character that cannot be seen."""
    found = Counter(c for c in text if c not in SPACES and _unseen(c))
    return [f"U+{ord(c):04X} {unicodedata.name(c, 'control')} × {n}" for c, n in found.most_common(8)]


def _unseen(character: str) -> bool:
    if unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn"):
        return character != "\u200d"  # a zero-width joiner builds emoji and scripts
    return unicodedata.category(character) == "Zs"


def look_alikes(text: str) -> list[str]:
    """Words that mix Latin letters with Cyrillic or Greek ones."""
    found = []
    for word in text.split():
        scripts = {unicodedata.name(c, "").partition(" ")[0] for c in word if c.isalpha()}
        if "LATIN" in scripts and scripts & set(LOOK_ALIKE):
            found.append(word[:30])
    return found[:6]


def nfc_table(text: str) -> list[Table]:
    """What NFC would change, the first dozen places; no table where it changes nothing."""
    part = text[:100_000]
    if unicodedata.is_normalized("NFC", part):
        return []
    rows: list[tuple[Value, ...]] = []
    for cluster in dict.fromkeys(CLUSTER.findall(part)):
        becomes = unicodedata.normalize("NFC", cluster)
        if becomes != cluster and len(rows) < 12:
            rows.append((cluster, _points(cluster), becomes, _points(becomes)))
    columns = ("written", "code points", "in NFC", "code points then")
    return [Table("What NFC would change", columns, tuple(rows))] if rows else []


def _points(text: str) -> str:
    return " ".join(f"U+{ord(c):04X}" for c in text)
