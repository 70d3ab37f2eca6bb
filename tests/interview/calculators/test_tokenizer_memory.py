"""What a loaded tokenizer leaves in the process that serves pages."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEGABYTE = 1_000_000
LOAD = """
import psutil
from interview.calculators.formulas import encodings
before = psutil.Process().memory_info().rss
encodings.ids_of("{name}", "a few words")
print(psutil.Process().memory_info().rss - before)
"""


@pytest.mark.parametrize(("name", "most"), [("cl100k_base", 30), ("o200k_base", 60), ("local", 30)])
def test_a_tokenizer_keeps_one_copy_and_none_of_its_file(name: str, most: int) -> None:
    added = int(subprocess.check_output([sys.executable, "-c", LOAD.format(name=name)], text=True))
    assert added < most * MEGABYTE
