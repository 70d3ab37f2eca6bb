"""The real models, loaded once, and a tiny random one for exhaustive cases."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import prepare
from engine.embeddings import Embedder
from engine.grading import Grader
from engine.llm import Engine
from engine.registry import DEFAULT_DIR, DEFAULT_MODEL

# The kernel is compiled where there is a compiler; without one the engine runs on torch and has nothing of it to test.
collect_ignore = [] if shutil.which("cc") or shutil.which("gcc") else ["test_kernel.py"]

MODELS_DIR = Path(os.environ.get("MODELS_DIR", str(DEFAULT_DIR)))


@pytest.fixture(scope="session")
def models_dir() -> Path:
    prepare(DEFAULT_MODEL, MODELS_DIR)
    prepare("all-minilm-l6-v2", MODELS_DIR)
    return MODELS_DIR


@pytest.fixture(scope="session")
def engine(models_dir: Path) -> Iterator[Engine]:
    with Engine.load(models_dir=models_dir, threads=2) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def embedder(models_dir: Path) -> Embedder:
    return Embedder.load(models_dir)


@pytest.fixture(scope="session")
def grader(embedder: Embedder) -> Grader:
    return Grader(embedder)
