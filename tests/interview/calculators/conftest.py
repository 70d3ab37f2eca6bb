"""Hypothesis without a time limit an example: a busy machine is no failure; speed has tests of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from engine.llm import Engine
from engine.registry import DEFAULT_DIR
from interview.calculators.page_cache import PAGES
from interview.calculators.selectors import forget_questions

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """The local model, as the worker loads it."""
    with Engine.load(models_dir=Path(os.environ.get("MODELS_DIR", str(DEFAULT_DIR))), threads=2) as loaded:
        yield loaded


@pytest.fixture(autouse=True)
def _no_kept_pages() -> None:
    """Each test sees pages made for it."""
    PAGES.clear()
    forget_questions()
