"""Where a model comes from: the registry, a GGUF file, a folder in Hugging Face's form, or a hub id. Imports no torch."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engine import registry
from engine.errors import ModelError
from engine.gguf_file import read_gguf
from engine.registry import DEFAULT_DIR, Format, ModelCard

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
HASHES = "hashes.json"
# What the process needs beside weights and KV memory: torch itself, buffers.
HEADROOM_BYTES = 300 * 2**20
BYTES_PER_WEIGHT: dict[Format, float] = {"int4": 2.7, "int8": 3.3, "bf16": 2.0, "fp16": 2.0, "fp32": 4.0}


@dataclass(frozen=True, slots=True)
class Source:
    """A model's files on this disk."""

    name: str
    kind: Literal["gguf", "folder"]
    path: Path
    revision: str
    licence: str
    known_sha256: str | None = None

    @property
    def weights(self) -> list[Path]:
        """The files that hold the weights."""
        return [self.path] if self.kind == "gguf" else sorted(self.path.glob("*.safetensors"))

    @property
    def n_bytes(self) -> int:
        """Bytes of the weight files."""
        return sum(file.stat().st_size for file in self.weights)


def find(model: str, models_dir: Path = DEFAULT_DIR, progress: registry.Progress | None = None) -> Source:
    """The named model's files, prepared if the registry knows them. Raises `ModelError` for an unknown one."""
    if model in registry.MODELS:
        spec = registry.MODELS[model]
        folder = registry.prepare(model, models_dir, progress or (lambda stage, fraction: None))
        revision, sha256 = f"{spec.package}=={spec.version}", spec.files[spec.weights][1]
        return Source(spec.name, "gguf", folder / spec.weights, revision, spec.licence, sha256)
    path = Path(model).expanduser()
    if path.is_file():
        return Source(path.stem, "gguf", path, f"file {path.name}", "unknown")
    if path.is_dir():
        return _folder(path, path.resolve().name, f"folder {path.name}")
    if HUB_ID.fullmatch(model):
        return _hub(model)
    raise ModelError(
        "model_unknown",
        f"no model is called {model!r}; give {', '.join(registry.MODELS)}, a GGUF file, a folder with config.json "
        "and *.safetensors, or a hub id owner/name",
    )


def _folder(path: Path, name: str, revision: str) -> Source:
    if not (path / "config.json").is_file() or not list(path.glob("*.safetensors")):
        raise ModelError("model_missing", f"{path} lacks config.json or *.safetensors")
    return Source(name, "folder", path, revision, "unknown")


def _hub(model: str) -> Source:
    """The hub's files from the local cache, fetched first where the network allows it."""
    try:
        from huggingface_hub import snapshot_download

        wanted = ["*.json", "*.safetensors", "*.jinja", "tokenizer.model"]
        found = Path(snapshot_download(model, allow_patterns=wanted))
    except ImportError as error:
        raise ModelError("model_missing", f"{model} needs the package huggingface_hub") from error
    except Exception as error:
        # The hub's client raises many types of its own; all mean that the files can't be had.
        raise ModelError(
            "model_missing", f"{model} is neither in the local cache nor could be fetched: {error}"
        ) from error
    return _folder(found, model, found.name)


def sha256_of(source: Source, models_dir: Path) -> str:
    """The weights' hash: of the one file, or of the list of the files' hashes. Kept beside size and time."""
    if source.known_sha256:
        return source.known_sha256
    stamps = {str(f.resolve()): [f.stat().st_size, f.stat().st_mtime_ns] for f in source.weights}
    known = _read_hashes(models_dir)
    parts = []
    for file, stamp in stamps.items():
        if known.get(file, [None, None])[0] != stamp:
            known[file] = [stamp, registry.file_sha256(Path(file))]
        parts.append(str(known[file][1]))
    _write_hashes(models_dir, known)
    return parts[0] if len(parts) == 1 else hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _read_hashes(models_dir: Path) -> dict[str, Any]:
    try:
        found = json.loads((models_dir / HASHES).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_hashes(models_dir: Path, known: Mapping[str, Any]) -> None:
    models_dir.mkdir(parents=True, exist_ok=True)
    part = models_dir / f".{HASHES}.{os.getpid()}"
    part.write_text(json.dumps(known))
    part.replace(models_dir / HASHES)


def card(source: Source, models_dir: Path = DEFAULT_DIR) -> ModelCard:
    """What the model is. Raises `ModelError` when its description is broken."""
    if source.kind == "gguf":
        gguf = read_gguf(source.path)
        try:
            shape = registry.gguf_shape(gguf.metadata)
        except KeyError as error:
            raise ModelError("model_unsupported", f"{source.path} doesn't say its {error}") from error
        kinds = sorted({t.kind for t in gguf.tensors.values()} - {"F32"})
        weight_format, file = " and ".join(kinds), source.path.name
    else:
        shape = _config_shape(source.path)
        weight_format, file = "safetensors", ", ".join(f.name for f in source.weights)
    sha256 = sha256_of(source, models_dir)
    return ModelCard(source.name, source.revision, file, sha256, weight_format, source.licence, **shape)


def _config_shape(folder: Path) -> dict[str, int]:
    try:
        config = json.loads((folder / "config.json").read_text())
        config = {**config, **(config.get("text_config") or {})}
        heads = config.get("num_attention_heads") or config["n_head"]
        hidden = config.get("hidden_size") or config["n_embd"]
        n_layers = config.get("num_hidden_layers") or config["n_layer"]
        context = config.get("max_position_embeddings") or config.get("n_positions") or config["n_ctx"]
        n_kv = config.get("num_key_value_heads") or heads
        head_dim = config.get("head_dim") or hidden // heads
        return {
            "context_length": context,
            "n_layers": n_layers,
            "n_heads": heads,
            "n_kv_heads": n_kv,
            "head_dim": head_dim,
            "hidden_size": hidden,
            "vocab_size": config["vocab_size"],
            "kv_bytes_per_token": 2 * n_layers * n_kv * head_dim * 2,
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError("model_corrupt", f"{folder}/config.json can't be used: {error!r}") from error


def default_format(source: Source, place: str) -> Format:
    """On a CPU a file's own: int4 where all matrices are 4-bit, int8 where all are Q8_0; else bf16."""
    if source.kind != "gguf" or place != "cpu":
        return "bf16"
    kinds = {t.kind for name, t in read_gguf(source.path).tensors.items() if name.startswith("blk.")}
    if kinds <= {"Q4_0", "Q4_1", "F32"}:
        return "int4"
    return "int8" if kinds <= {"Q8_0", "F32"} else "bf16"


def predicted_bytes(source: Source, form: Format, kv_bytes: int) -> int:
    """Memory that loading will take: weights in the format, KV memory, and what the process needs besides."""
    if source.kind == "gguf":
        weights = sum(_elements(t.shape) for t in read_gguf(source.path).tensors.values())
    else:
        weights = _safetensors_elements(source)
    return int(weights * BYTES_PER_WEIGHT[form]) + kv_bytes + HEADROOM_BYTES


def _elements(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _safetensors_elements(source: Source) -> int:
    """Weights counted from the files' headers (8 bytes of length, then JSON)."""
    total = 0
    for file in source.weights:
        try:
            with file.open("rb") as stream:
                header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
            total += sum(_elements(tuple(t["shape"])) for n, t in header.items() if n != "__metadata__")
        except (OSError, ValueError, KeyError, TypeError, MemoryError, OverflowError) as error:
            raise ModelError(
                "model_corrupt",
                f"{file} (sha256 {registry.file_sha256(file)}) is no safetensors file: {error}",
            ) from error
    return total


def check_memory(source: Source, form: Format, kv_bytes: int, available: int | None = None) -> None:
    """Refuses a model that won't fit, with both numbers, before anything is loaded."""
    free = available_memory() if available is None else available
    needed = predicted_bytes(source, form, kv_bytes)
    if free is not None and needed > free:
        raise ModelError(
            "model_too_large",
            f"{source.name} in {form} needs about {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free; choose a "
            "smaller model or format, or lower the KV memory",
        )


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system doesn't say."""
    try:
        rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        return int(rows["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def check_space(folder: Path, n_bytes: int) -> None:
    """Refuses to convert a file where the result doesn't fit on the disk."""
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise ModelError("disk_full", f"converting needs {n_bytes} bytes in {folder}; {free} are free")
