"""From a GGUF file to a decoder: int4 weights packed once and cached beside it, or dense weights for CUDA
and fp32.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from engine.decoder import Decoder, Layer, Norm, Shape
from engine.errors import ModelError
from engine.gguf_file import GGUF, TensorEntry, dequantise, q4_parts, read_gguf
from engine.linear import DenseLinear, Int4Linear, Int8Head, Linear, pack_int4, pack_int8_head
from engine.registry import gguf_shape

Format = Literal["int4", "bf16", "fp16", "fp32"]
# Raise when the packing changes, so that older cached files are made anew.
CACHE_VERSION = 1
DTYPES = {"int4": torch.bfloat16, "bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
FUSED = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "out": ("attn_output",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}


def shape_of(meta: dict[str, Any]) -> Shape:
    """The decoder's sizes from GGUF metadata; raises `ModelError` for another architecture."""
    arch = meta["general.architecture"]
    if arch != "llama":
        raise ModelError("model_unsupported", f"GGUF architecture {arch!r}; this loader reads llama")
    sizes: dict[str, Any] = gguf_shape(meta)
    sizes.pop("kv_bytes_per_token")
    return Shape(
        **sizes,
        intermediate_size=meta[f"{arch}.feed_forward_length"],
        rms_eps=meta[f"{arch}.attention.layer_norm_rms_epsilon"],
        rope_theta=meta.get(f"{arch}.rope.freq_base", 10_000.0),
    )


def unpermute(rows: Tensor, n_heads: int) -> Tensor:
    """Undoes llama.cpp's row order for q and k (pairs side by side) to the order by halves that `rotate`
    expects.
    """
    return (
        rows.view(n_heads, rows.shape[0] // n_heads // 2, 2, *rows.shape[1:])
        .transpose(1, 2)
        .reshape(rows.shape)
    )


def load_gguf(
    path: Path,
    sha256: str,
    weight_format: Format = "int4",
    device: str = "cpu",
    cache_dir: Path | None = None,
) -> Decoder:
    """The decoder of a GGUF file.

    `int4` keeps 4-bit weights in 4 bits and is converted once into `cache_dir`.
    """
    gguf = read_gguf(path)
    shape = shape_of(gguf.metadata)
    try:
        if weight_format == "int4":
            return _int4_decoder(
                gguf, shape, (cache_dir or path.parent) / f"packed-v{CACHE_VERSION}-{sha256[:16]}.safetensors"
            )
        return dense_decoder(
            shape,
            lambda name: torch.from_numpy(dequantise(gguf.tensors[name]).copy()),
            DTYPES[weight_format],
            torch.device(device),
        )
    except KeyError as error:
        raise ModelError("model_corrupt", f"{path} lacks the tensor {error}; fetch it again") from error


def _fused_rows(get: Callable[[str], Tensor], shape: Shape, index: int, parts: tuple[str, ...]) -> Tensor:
    heads = {"attn_q": shape.n_heads, "attn_k": shape.n_kv_heads}
    found = []
    for part in parts:
        rows = get(f"blk.{index}.{part}.weight")
        found.append(unpermute(rows, heads[part]) if part in heads else rows)
    return torch.cat(found)


def dense_decoder(
    shape: Shape, get: Callable[[str], Tensor], dtype: torch.dtype, device: torch.device
) -> Decoder:
    """A decoder with dense weights from GGUF-named fp32 tensors."""

    def norm(name: str) -> Norm:
        return Norm.of(get(name).to(device), shape.rms_eps)

    def linear(index: int, name: str) -> Linear:
        return DenseLinear(_fused_rows(get, shape, index, FUSED[name]).to(device, dtype))

    layers = [
        Layer(
            attn_norm=norm(f"blk.{i}.attn_norm.weight"),
            mlp_norm=norm(f"blk.{i}.ffn_norm.weight"),
            qkv=linear(i, "qkv"),
            out=linear(i, "out"),
            gate_up=linear(i, "gate_up"),
            down=linear(i, "down"),
        )
        for i in range(shape.n_layers)
    ]
    embedding = get("token_embd.weight").to(device, dtype)
    try:
        head: Tensor = get("output.weight").to(device, dtype)
    except KeyError:
        head = embedding
    return Decoder(shape, embedding, layers, norm("output_norm.weight"), _DenseHead(head), dtype)


class _DenseHead(DenseLinear):
    """Takes the fp32 hidden state in the weights' own type."""

    __slots__ = ()

    def __call__(self, x: Tensor) -> Tensor:
        return DenseLinear.__call__(self, x.to(self.weight.dtype))


def _q4(entry: TensorEntry) -> tuple[Tensor, Tensor, Tensor]:
    if entry.kind not in ("Q4_0", "Q4_1"):
        raise ModelError(
            "model_unsupported", f"{entry.name} is {entry.kind}; int4 loading reads Q4_0 and Q4_1"
        )
    q, scale, minimum = q4_parts(entry)
    return torch.from_numpy(q), torch.from_numpy(scale), torch.from_numpy(minimum)


def _fused_q4(gguf: GGUF, shape: Shape, index: int, parts: tuple[str, ...]) -> list[Tensor]:
    """q, scale and minimum of the fused matrix."""
    q4 = {f"blk.{index}.{part}.weight": _q4(gguf.tensors[f"blk.{index}.{part}.weight"]) for part in parts}
    return [_fused_rows(lambda key, at=at: q4[key][at], shape, index, parts) for at in range(3)]  # type: ignore[misc]  # a default binds `at`


def convert_int4(gguf: GGUF, shape: Shape) -> dict[str, Tensor]:
    """Every tensor of the packed file, ready to save."""
    found: dict[str, Tensor] = {}
    for i in range(shape.n_layers):
        for name, parts in FUSED.items():
            q, scale, minimum = _fused_q4(gguf, shape, i, parts)
            packed = pack_int4(q, scale, minimum)
            found |= {
                f"{i}.{name}.packed": packed.packed,
                f"{i}.{name}.scales": packed.scales,
                f"{i}.{name}.dense": packed.dense,
            }
        for norm in ("attn_norm", "ffn_norm"):
            found[f"{i}.{norm}"] = torch.from_numpy(dequantise(gguf.tensors[f"blk.{i}.{norm}.weight"]).copy())
    embedding = torch.from_numpy(dequantise(gguf.tensors["token_embd.weight"]).copy())
    output = gguf.tensors.get("output.weight")
    head = pack_int8_head(torch.from_numpy(dequantise(output).copy()) if output else embedding)
    return found | {
        "norm": torch.from_numpy(dequantise(gguf.tensors["output_norm.weight"]).copy()),
        "embedding": embedding.to(torch.bfloat16),
        "head": head.weight,
        "head.scale": head.scale,
    }


def _save_atomically(tensors: dict[str, Tensor], path: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as stream:
        part = Path(stream.name)
    try:
        save_file({name: t.contiguous() for name, t in tensors.items()}, part)
        part.chmod(0o644)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read_packed(path: Path) -> dict[str, Tensor] | None:
    """The cached tensors (memory-mapped), or None when the file is absent or broken."""
    try:
        with safe_open(path, framework="pt") as stored:
            return {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118  # not a mapping
    except Exception:
        # safetensors raises its own untyped error for a truncated file; the packed file is only a cache.
        return None


def _int4_decoder(gguf: GGUF, shape: Shape, cached: Path) -> Decoder:
    tensors = _read_packed(cached)
    if tensors is None:
        tensors = convert_int4(gguf, shape)
        _save_atomically(tensors, cached)
    found = tensors

    def linear(index: int, name: str) -> Linear:
        key = f"{index}.{name}"
        return Int4Linear(found[f"{key}.packed"], found[f"{key}.scales"], found[f"{key}.dense"])

    layers = [
        Layer(
            attn_norm=Norm.of(found[f"{i}.attn_norm"], shape.rms_eps),
            mlp_norm=Norm.of(found[f"{i}.ffn_norm"], shape.rms_eps),
            qkv=linear(i, "qkv"),
            out=linear(i, "out"),
            gate_up=linear(i, "gate_up"),
            down=linear(i, "down"),
        )
        for i in range(shape.n_layers)
    ]
    head = Int8Head(found["head"], found["head.scale"])
    return Decoder(
        shape, found["embedding"], layers, Norm.of(found["norm"], shape.rms_eps), head, torch.bfloat16
    )
