"""Preparation: done once, silent where nothing changed, one line where it can't be done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_django import Settings

from interview.environment import NAMES
from interview.serve import prepare
from tests.settings import ROOT


def manage(var_dir: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in NAMES}
    clean |= {"DJANGO_SETTINGS_MODULE": "interview.settings", "HTTPS": "off", "VAR_DIR": str(var_dir)}
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={**clean, **variables},
        capture_output=True,
        text=True,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1 and "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    return line


def test_a_second_preparation_changes_nothing(tmp_path: Path) -> None:
    steps = ["folder", "database", "questions", "demo", "static"]
    first = manage(tmp_path, "prepare", *steps, DEMO="on")
    assert "applying" in first.stdout and "collecting" in first.stdout, first.stderr
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "static").rglob("*")}
    second = manage(tmp_path, "prepare", *steps, DEMO="on")
    assert second.returncode == 0
    assert "applying" not in second.stdout and "collecting" not in second.stdout
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "static").rglob("*")} == before
    assert before, "static files were collected"


def test_a_changed_static_file_is_collected_again(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    file = tmp_path / "own" / "site.css"
    file.write_text("a")
    settings.STATICFILES_DIRS = [tmp_path / "own"]
    before = prepare._static_digest()
    assert prepare._static_digest() == before
    os.utime(file, ns=(1, 1))
    assert prepare._static_digest() != before


def test_an_unknown_step_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    assert "No step is called laundry. Steps: folder, database" in one_line(
        manage(tmp_path, "prepare", "laundry")
    )


def test_a_database_that_is_away_is_named(tmp_path: Path) -> None:
    away = {
        "DATABASE_URL": "postgres://prefill:hidden@127.0.0.1:9/prefill",
        "SECRET_KEY": "for-this-test-only" * 4,
    }
    line = one_line(manage(tmp_path, "prepare", "database", **away))
    assert "The database can't be used" in line and "refused" in line
    assert "DATABASE_URL" in line and "hidden" not in line


def test_a_folder_that_cannot_be_written_is_named(settings: Settings) -> None:
    settings.VAR_DIR = Path("/proc")
    with pytest.raises(prepare.PrepareFailed, match=r"/proc/.*set VAR_DIR to another folder"):
        prepare.prepare(print, ["folder"])


def test_little_space_is_said_before_a_model_is_downloaded(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=70_000_000))
    prepare.prepare(print, ["folder"])
    with pytest.raises(prepare.PrepareFailed, match=r"Only 70 MB are free .* Free 600 MB"):
        prepare.prepare(print, ["models"])


def test_models_without_a_network_say_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    for name, value in {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(prepare.PrepareFailed, match=r"could not be downloaded .*without a network put"):
        prepare.prepare(print, ["models"])
