"""Make `.venv` with the pinned packages, and start what was asked for. Standard library only.

    python3 scripts/setup.py install [--dev]    the packages to run the site (and to test it)
    python3 scripts/setup.py run                install, then `manage.py serve --prepare`

Everything that can go wrong on a fresh machine ends in one line that says what to do. Written so that
Python 3.6 can read it: an old Python must get as far as being told that it is too old.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOG = ROOT / "var" / "setup.log"
OLDEST = (3, 11)
DISK_NEEDED = (
    3_000_000_000  # bytes; the packages take 1.8 GB with a CPU build of torch, and pip unpacks beside them
)
LOCAL_DEFAULTS = {"HTTPS": "off", "DEMO": "on"}  # for `make run` on a loopback address
LOOPBACK = ("127.", "::1", "localhost")
DEPLOYED = ("DATABASE_URL", "REDIS_URL", "ALLOWED_HOSTS", "SITE_URL", "TRUSTED_PROXIES")

# What pip says → what to do. The first that fits is shown.
CAUSES = (
    (r"No space left on device", "the disk is full. Free about 3 GB here and run it again"),
    (
        r"Read-only file system|Permission denied: '([^']+)'",
        "the folder can't be written. Change its owner, or clone elsewhere",
    ),
    (
        r"Unable to find a compiler|error: command '[^']*(?:cc|gcc|clang|g\+\+|c\+\+)[^']*' failed|fatal error: Python\.h",
        "a package has to be compiled here and there is no working C compiler. Install one "
        "(Debian, Ubuntu: apt-get install build-essential python3-dev) and run it again",
    ),
    (
        r"ensurepip",
        "this Python's venv module is incomplete. Install it (Debian, Ubuntu: apt-get install python3-venv) and run it again",
    ),
    (
        r"NewConnectionError|NameResolutionError|name resolution|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError"
        r"|Connection refused|Network is unreachable|connection broken|RemoteDisconnected|Connection aborted",
        "the package index can't be reached. The first start needs a network, or PIP_FIND_LINKS naming a folder "
        "with the pinned packages",
    ),
    (
        r"No matching distribution found for (\S+)",
        "there is no build of {0} for this Python and machine. Python 3.11 on Linux x86_64 has them all",
    ),
    (
        r"ResolutionImpossible|conflicting dependencies",
        "the pins in constraints.txt contradict pyproject.toml or pip's own settings",
    ),
)


class SetupError(Exception):
    """Set-up can't go on; the message says why and what to do."""


def check_python(version: "tuple[int, ...]" = tuple(sys.version_info[:3])) -> None:
    """Refuse a Python older than the project's."""
    if version[:2] < OLDEST:
        raise SetupError(
            f"Python {version[0]}.{version[1]} is too old: 3.11 or newer is needed. "
            "Install it, or name it: make run PYTHON=python3.11"
        )


def check_disk() -> None:
    free = shutil.disk_usage(str(ROOT)).free
    if free < DISK_NEEDED:
        raise SetupError(
            f"the disk is nearly full: {free / 1e9:.1f} GB free, about {DISK_NEEDED / 1e9:.0f} GB are needed. "
            "Free some and run it again"
        )


def venv_python() -> Path:
    """The interpreter of `.venv` (a folder or a link); made where there is none yet, mended where it is half made."""
    python = VENV / "bin" / "python"
    found = _version_of(python)
    if found is None and VENV.is_symlink():
        raise SetupError(
            ".venv is a link to a folder without a working Python. Remove the link and run it again"
        )
    if found is None:
        _make_venv()
    elif found < OLDEST:
        raise SetupError(
            f".venv holds Python {found[0]}.{found[1]}, 3.11 or newer is needed. Remove .venv and run it again"
        )
    return python


def _version_of(python: Path) -> "tuple[int, int] | None":
    """(major, minor) of a working interpreter, or None."""
    try:
        done = subprocess.run(
            [str(python), "-c", "import sys, pip; print(*sys.version_info[:2])"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    words = done.stdout.split()
    return (int(words[0]), int(words[1])) if done.returncode == 0 and len(words) == 2 else None


def _make_venv() -> None:
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise SetupError(
            "this Python comes without its venv module. Install it (Debian, Ubuntu: apt-get install python3-venv) "
            "and run it again"
        )
    check_disk()
    say(f"Making .venv with Python {sys.version_info[0]}.{sys.version_info[1]}")
    _logged([sys.executable, "-m", "venv", "--clear", str(VENV)], "The virtual environment could not be made")


def wanted(dev: bool) -> "tuple[list[str], str]":
    """(requirements, digest): what pyproject.toml asks for and a hash that changes when it or the pins do."""
    import tomllib

    raw = (ROOT / "pyproject.toml").read_bytes()
    project = tomllib.loads(raw.decode("utf-8"))["project"]
    requirements = list(project["dependencies"])
    if dev:
        requirements += project["optional-dependencies"]["dev"]
    pins = (ROOT / "constraints.txt").read_bytes()
    return requirements, hashlib.sha256("\n".join(requirements).encode() + b"\0" + pins).hexdigest()


def install(dev: bool) -> Path:
    """The interpreter of a `.venv` that has every pinned package; does nothing where the stamp says so."""
    python = venv_python()
    if _stamped(True) or (not dev and _stamped(False)):
        return python
    requirements, digest = wanted(dev)
    began = time.monotonic()
    say(
        "Installing the pinned packages into .venv (some minutes the first time; "
        f"log: {LOG.relative_to(ROOT)})"
    )
    command = [str(python), "-m", "pip", "install", "--retries", "2", "--progress-bar", "off", "--no-input"]
    command += ["-c", str(ROOT / "constraints.txt"), *requirements]
    _logged(command, "The packages could not be installed")
    _stamp(dev).write_text(digest)
    say(f"Installed in {time.monotonic() - began:.0f} s")
    return python


def _stamp(dev: bool) -> Path:
    return VENV / ("prefill-dev.stamp" if dev else "prefill-run.stamp")


def _stamped(dev: bool) -> bool:
    return _stamp(dev).is_file() and _stamp(dev).read_text() == wanted(dev)[1]


def _logged(command: "list[str]", failure: str) -> None:
    """Run it with its output in the log; a failure raises one line."""
    with LOG.open("w+", encoding="utf-8", errors="replace") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, cwd=str(ROOT))
        log.seek(0)
        if done.returncode != 0:
            raise SetupError(f"{failure}: {cause(log.read())}. Details: {LOG.relative_to(ROOT)}")


def cause(output: str) -> str:
    """Why pip or venv failed and what to do, in one line."""
    for pattern, advice in CAUSES:
        found = re.search(pattern, output)
        if found:
            return advice.format(*found.groups())
    errors = [line for line in output.splitlines() if re.match(r"(ERROR|error)", line.strip())]
    return (errors or output.strip().splitlines() or ["no output"])[-1].strip().rstrip(".")


def local_defaults(environment: "Mapping[str, str]") -> "dict[str, str]":
    """Plain http and the demo accounts, for a site that only this machine can reach; what is set wins.

    A loopback site with any sign of a deployment (a proxy may stand before it) keeps the secure defaults.
    """
    given = {**_env_file(ROOT / ".env"), **environment}
    if not given.get("HOST", "127.0.0.1").startswith(LOOPBACK) or any(given.get(name) for name in DEPLOYED):
        return {}
    return {name: value for name, value in LOCAL_DEFAULTS.items() if name not in given}


def _env_file(file: Path) -> "dict[str, str]":
    if not file.is_file():
        return {}
    lines = re.findall(
        r"^\s*(?:export\s+)?([A-Z_]+)\s*=\s*(.*?)\s*$", file.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name: value.strip("\"'") for name, value in lines}


def say(line: str) -> None:
    print(line, flush=True)


def main(words: "list[str]") -> None:
    check_python()
    if words not in (["install"], ["install", "--dev"], ["run"]):
        raise SetupError("usage: setup.py install [--dev] | run")
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with (LOG.parent / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two starts at once: the second waits and finds all done
        python = install(dev="--dev" in words)
    if words == ["run"]:
        os.chdir(str(ROOT))
        os.execve(
            str(python),
            [str(python), "manage.py", "serve", "--prepare"],
            {**os.environ, **local_defaults(os.environ)},
        )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SetupError as error:
        sys.exit(f"Set-up stopped: {error}.")
    except OSError as error:
        sys.exit(
            f"Set-up stopped: {error.filename}: {error.strerror}. "
            "Make the folder writable, or clone elsewhere."
        )
    except KeyboardInterrupt:
        sys.exit("Set-up stopped by Ctrl-C; run it again to go on.")
