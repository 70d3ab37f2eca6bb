"""Reads a GGUF file: metadata and where each tensor's bytes lie. Imports no torch.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.gguf_metadata import Cursor, header, parsed

# ggml type id -> (name, values in a block, bytes in a block)
TENSOR_TYPES = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    8: ("Q8_0", 32, 34),
    30: ("BF16", 1, 2),
}


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One tensor: its ggml type, its shape as torch would give it (rows first) and its raw bytes."""

    name: str
    kind: str
    shape: tuple[int, ...]
    raw: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class GGUF:
    """A parsed file."""

    metadata: dict[str, Any]
    tensors: dict[str, TensorEntry]


def read_gguf(path: Path) -> GGUF:
    """Parses the file; the tensors' bytes stay in the page cache (mmap).

    Raises `ModelError` when it is broken.
    """
    return parsed(path, _parse)


def _parse(data: mmap.mmap) -> GGUF:
    cursor = Cursor(data)
    metadata, n_tensors = header(cursor)
    entries = [_entry(cursor) for _ in range(n_tensors)]
    align = metadata.get("general.alignment", 32)
    start = -(-cursor.at // align) * align
    whole = np.frombuffer(data, dtype=np.uint8)
    return GGUF(
        metadata, {name: _tensor(whole, start, name, shape, kind, at) for name, shape, kind, at in entries}
    )


def _entry(cursor: Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.string()
    dims = tuple(cursor.scalar("Q") for _ in range(cursor.scalar("I")))
    return name, dims[::-1], cursor.scalar("I"), cursor.scalar("Q")


def _tensor(
    whole: npt.NDArray[np.uint8], start: int, name: str, shape: tuple[int, ...], kind: int, offset: int
) -> TensorEntry:
    if kind not in TENSOR_TYPES:
        known = ", ".join(t[0] for t in TENSOR_TYPES.values())
        raise ValueError(f"tensor {name} has ggml type {kind}; supported: {known}")
    label, block, size = TENSOR_TYPES[kind]
    n_bytes = int(np.prod(shape)) // block * size
    raw = whole[start + offset : start + offset + n_bytes]
    if raw.size != n_bytes:
        raise ValueError(f"tensor {name} is cut off: {raw.size} of {n_bytes} bytes")
    return TensorEntry(name, label, shape, raw)


def blocks(entry: TensorEntry) -> npt.NDArray[np.uint8]:
    """The raw bytes of a quantised matrix as [rows, blocks a row, bytes a block]."""
    size = {"Q4_0": 18, "Q4_1": 20, "Q8_0": 34}[entry.kind]
    return entry.raw.reshape(entry.shape[0], entry.shape[1] // 32, size)


def half(raw: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Two bytes on the last axis as one fp16 number, widened."""
    return np.ascontiguousarray(raw).view(np.float16)[..., 0].astype(np.float32)


def q4_parts(entry: TensorEntry) -> tuple[Any, Any, Any]:
    """A Q4_1 or Q4_0 matrix as (q uint8 [N, K] in 0..15, scale [N, K/32], minimum [N, K/32]); w = scale q +
    minimum.
    """
    block = blocks(entry)
    scale = half(block[..., 0:2])
    minimum = half(block[..., 2:4]) if entry.kind == "Q4_1" else -8.0 * scale
    nibbles = block[..., 4 if entry.kind == "Q4_1" else 2 :]
    q = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1)
    return q.reshape(entry.shape), scale, minimum


def dequantise(entry: TensorEntry) -> npt.NDArray[np.float32]:
    """Any supported tensor as fp32 in its own shape."""
    if entry.kind == "F32":
        return entry.raw.view(np.float32).reshape(entry.shape)
    if entry.kind == "F16":
        return entry.raw.view(np.float16).reshape(entry.shape).astype(np.float32)
    if entry.kind == "BF16":
        wide = entry.raw.view(np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).reshape(entry.shape)
    if entry.kind == "Q8_0":
        block = blocks(entry)
        values = block[..., 2:].view(np.int8) * half(block[..., 0:2])[..., None]
        return values.reshape(entry.shape).astype(np.float32)
    q, scale, minimum = q4_parts(entry)
    grouped = q.reshape(*scale.shape, 32) * scale[..., None] + minimum[..., None]
    return np.asarray(grouped.reshape(entry.shape), dtype=np.float32)
