from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.embeddings import Embedder
from engine.grading import Grader


@pytest.fixture(scope="session")
def models_dir() -> Path:
    return Path(os.environ.get("MODELS_DIR", "var/models"))


@pytest.fixture(scope="session")
def embedder(models_dir: Path) -> Embedder:
    return Embedder.load(models_dir)


@pytest.fixture(scope="session")
def grader(embedder: Embedder) -> Grader:
    return Grader(embedder)
