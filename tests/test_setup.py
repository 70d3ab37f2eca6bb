"""The set-up script: what it makes, what it leaves alone, and the one line it says when it can't go on."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """scripts/setup.py as a module that works on a folder of its own."""
    spec = importlib.util.spec_from_file_location("prefill_setup", ROOT / "scripts" / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "LOG", tmp_path / "var" / "setup.log")
    (tmp_path / "var").mkdir()
    return module


def use_this_environment(folder: Path) -> None:
    """Link the environment that runs the tests, as a developer may."""
    (folder / ".venv").symlink_to(sys.prefix)


def test_an_old_python_is_named(setup: ModuleType) -> None:
    with pytest.raises(setup.SetupError, match=r"Python 3\.9 is too old: 3\.11 or newer"):
        setup.check_python((3, 9, 1))
    setup.check_python((3, 11, 0))


def test_a_linked_environment_is_used_as_it_is(setup: ModuleType, tmp_path: Path) -> None:
    use_this_environment(tmp_path)
    assert setup.venv_python() == tmp_path / ".venv" / "bin" / "python"
    assert (tmp_path / ".venv").is_symlink()


def test_a_broken_link_is_not_replaced(setup: ModuleType, tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(tmp_path / "gone")
    with pytest.raises(setup.SetupError, match=r"\.venv is a link .* Remove the link"):
        setup.venv_python()


def test_a_half_made_environment_is_made_again(setup: ModuleType, tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").write_text("cut off")
    python = setup.venv_python()
    done = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True)
    assert done.stdout.strip() == str(tmp_path / ".venv")


def test_a_python_without_venv_says_which_package_brings_it(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(setup.SetupError, match="apt-get install python3-venv"):
        setup.venv_python()


def test_little_space_is_said_before_anything_is_downloaded(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(setup.shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    with pytest.raises(setup.SetupError, match="disk is nearly full"):
        setup.venv_python()
    assert not (tmp_path / ".venv").exists()


def test_a_stamp_spares_the_second_start_pip(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment = tmp_path / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "prefill-dev.stamp").write_text(setup.wanted(True)[1])
    monkeypatch.setattr(setup, "_logged", lambda *words: pytest.fail("pip was started"))
    setup.install(dev=True)
    setup.install(dev=False)  # the packages of the tests include those of the site


def test_a_changed_pin_is_noticed(setup: ModuleType, tmp_path: Path) -> None:
    before = {dev: setup.wanted(dev)[1] for dev in (True, False)}
    assert before[True] != before[False]
    pins = tmp_path / "constraints.txt"
    pins.write_text(pins.read_text().replace("Django==", "Django===", 1))
    assert setup.wanted(True)[1] != before[True] and setup.wanted(False)[1] != before[False]


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "disk is full"),
        ("error: command 'gcc' failed: No such file or directory", "build-essential"),
        ("error: command '/usr/bin/x86_64-linux-gnu-gcc' failed with exit code 1", "build-essential"),
        ("fatal error: Python.h: No such file or directory", "python3-dev"),
        ("WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching distribution found for Django", "needs a network"),
        ("Temporary failure in name resolution", "needs a network"),
        ("ERROR: No matching distribution found for torch==2.13.0", "no build of torch==2.13.0 for this Python"),
        ("[Errno 30] Read-only file system: '/x'", "can't be written"),
        ("something\nERROR: never seen before.", "ERROR: never seen before"),
        ("", "no output"),
    ],
)  # fmt: skip
def test_what_pip_says_becomes_what_to_do(setup: ModuleType, output: str, advice: str) -> None:
    line = setup.cause(output)
    assert advice in line and "\n" not in line


@pytest.mark.parametrize(
    ("given", "file", "defaults"),
    [
        ({}, "", {"HTTPS": "off", "DEMO": "on"}),
        ({"HOST": "::1", "DEMO": "off"}, "", {"HTTPS": "off"}),
        ({}, "HTTPS=on\n", {"DEMO": "on"}),
        ({}, 'export HOST="0.0.0.0"\n', {}),
        ({"HOST": "192.0.2.1"}, "", {}),
        ({"DATABASE_URL": "postgres://db/prefill"}, "", {}),
        ({}, "ALLOWED_HOSTS=example.org\n", {}),
    ],
)
def test_only_a_site_of_this_machine_gets_plain_http_and_demo_accounts(
    setup: ModuleType, tmp_path: Path, given: dict[str, str], file: str, defaults: dict[str, str]
) -> None:
    (tmp_path / ".env").write_text(file)
    assert setup.local_defaults(given) == defaults


def run_make(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *words], cwd=folder, env={**kept, **variables}, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a fresh clone has of the set-up."""
    (tmp_path / "scripts").mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "scripts/setup.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def stopped_with(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a stopped set-up (make adds a line of its own)."""
    assert done.returncode != 0 and "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert line.startswith("Set-up stopped: ")
    return line


def test_make_run_without_a_python_says_so(clone: Path) -> None:
    line = stopped_with(run_make(clone, "run", "PYTHON=python9.9"))
    assert "python9.9 is not installed. Install Python 3.11" in line


def test_make_run_without_a_network_says_so(clone: Path) -> None:
    done = run_make(
        clone, "run", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_CONFIG_FILE=os.devnull, PIP_FIND_LINKS=""
    )
    assert "can't be reached. The first start needs a network" in stopped_with(done)


def test_make_help_lists_the_commands(clone: Path) -> None:
    listed = run_make(clone, "help").stdout
    assert all(f"make {name} " in listed for name in ("run", "test", "test-services", "check", "e2e"))
