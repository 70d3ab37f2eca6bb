"""A GGUF file as a decoder: 4-bit weights stay 4-bit, packed once into a file beside it; or dense weights."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from engine import kernel
from engine.arranged import Bf16Matrix
from engine.decoder import Decoder, Layer, Norm, Shape
from engine.errors import ModelError
from engine.gguf_file import GGUF, TensorEntry, dequantise, q4_parts, read_gguf
from engine.linear import Int4Linear, Int8Head, Linear, head_panels, int8_rows, pack_int4
from engine.panels import pack4, panels
from engine.registry import Format, Progress, gguf_shape, quiet
from engine.rope import RopeScaling
from engine.weights import FUSED, build_decoder, fused_bias

# Raise when the packing changes, so that older cached files are made anew.
CACHE_VERSION = 3
PROGRESS_STEPS = 10
Packed = tuple[dict[str, Tensor], dict[str, Tensor]]
# Mistral's files call themselves llama.
ARCHITECTURES = ("llama", "qwen2", "qwen3")


def shape_of(meta: dict[str, Any]) -> Shape:
    """The decoder's sizes from GGUF metadata; raises `ModelError` for another architecture."""
    arch = meta["general.architecture"]
    if arch not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise ModelError("model_unsupported", f"GGUF architecture {arch!r}; this loader reads {known}")
    sizes: dict[str, Any] = gguf_shape(meta)
    sizes.pop("kv_bytes_per_token")
    return Shape(
        **sizes,
        intermediate_size=meta[f"{arch}.feed_forward_length"],
        rms_eps=meta[f"{arch}.attention.layer_norm_rms_epsilon"],
        rope_theta=meta.get(f"{arch}.rope.freq_base", 10_000.0),
        rope_scaling=scaling_of(meta),
    )


def scaling_of(meta: dict[str, Any]) -> RopeScaling:
    """How the file stretches its angles. Raises `ModelError` for a way this engine doesn't know."""
    arch = meta["general.architecture"]
    start = f"{arch}.rope.scaling."
    given = {key.removeprefix(start): value for key, value in meta.items() if key.startswith(start)}
    kind = given.get("type", "none")
    if kind == "none":
        return RopeScaling()
    if kind == "linear":
        return RopeScaling("linear", given["factor"])
    if kind == "yarn":
        context = given.get("original_context_length") or meta[f"{arch}.context_length"]
        return RopeScaling("yarn", given["factor"], context, attention_factor=given.get("attn_factor"))
    raise ModelError("model_unsupported", f"rotary scaling {kind!r}; this loader knows none, linear and yarn")


def _shape(gguf: GGUF, path: Path) -> Shape:
    try:
        return _stretched(shape_of(gguf.metadata), gguf)
    except KeyError as error:
        raise ModelError("model_corrupt", f"{path} doesn't say its {error}; fetch it again") from error


def _stretched(shape: Shape, gguf: GGUF) -> Shape:
    """The shape with a divisor for each frequency, where the file has them (Llama 3.1 and later)."""
    factors = gguf.tensors.get("rope_freqs.weight")
    if factors is None:
        return shape
    return replace(shape, rope_scaling=RopeScaling("factors", factors=tuple(dequantise(factors).tolist())))


def unpermute(rows: Tensor, n_heads: int) -> Tensor:
    """Undoes llama.cpp's row order for q and k (pairs side by side): `rotate` expects halves."""
    pairs = rows.view(n_heads, rows.shape[0] // n_heads // 2, 2, *rows.shape[1:])
    return pairs.transpose(1, 2).reshape(rows.shape)


def packed_name(sha256: str) -> str:
    """The file in which a model's packed weights are kept."""
    return f"packed-v{CACHE_VERSION}-{sha256[:16]}.safetensors"


def load_gguf(
    path: Path,
    sha256: str,
    weight_format: Format = "int4",
    device: str = "cpu",
    cache_dir: Path | None = None,
) -> Decoder:
    """The decoder of a GGUF file. `int4` is converted once into `cache_dir` (the file's folder)."""
    gguf = read_gguf(path)
    shape = _shape(gguf, path)
    try:
        if weight_format == "int4" and _all_q4(gguf, shape):
            return _of_tensors(shape, *_packed(gguf, shape, (cache_dir or path.parent) / packed_name(sha256)))
        return build_decoder(shape, _getter(gguf, shape), weight_format, torch.device(device))
    except KeyError as error:
        raise ModelError("model_corrupt", f"{path} lacks the tensor {error}; fetch it again") from error


def _ordered(rows: Tensor, gguf: GGUF, shape: Shape, name: str) -> Tensor:
    """Rotary rows by halves; llama.cpp reorders those of llama alone."""
    part = name.split(".")[-2]
    heads = {"attn_q": shape.n_heads, "attn_k": shape.n_kv_heads}.get(part, 0)
    return unpermute(rows, heads) if heads and gguf.metadata["general.architecture"] == "llama" else rows


def _getter(gguf: GGUF, shape: Shape) -> Any:
    def get(name: str) -> Tensor:
        return _ordered(_dense(gguf.tensors[name]), gguf, shape, name)

    return get


def _all_q4(gguf: GGUF, shape: Shape) -> bool:
    names = [f"blk.{i}.{p}.weight" for i in range(shape.n_layers) for parts in FUSED.values() for p in parts]
    return all(gguf.tensors[name].kind in ("Q4_0", "Q4_1") for name in names)


def _fused_q4(gguf: GGUF, shape: Shape, index: int, parts: tuple[str, ...]) -> list[Tensor]:
    """q, scale and minimum of the fused matrix."""
    columns: list[list[Tensor]] = [[], [], []]
    for part in parts:
        name = f"blk.{index}.{part}.weight"
        for column, array in zip(columns, q4_parts(gguf.tensors[name]), strict=True):
            column.append(_ordered(torch.from_numpy(array), gguf, shape, name))
    return [torch.cat(column) for column in columns]


def _dense(entry: TensorEntry) -> Tensor:
    return torch.from_numpy(dequantise(entry).copy())


def _bias(gguf: GGUF, shape: Shape, index: int, name: str) -> dict[str, Tensor]:
    """What the fused product adds, where the file has something."""
    found = fused_bias(_getter(gguf, shape), index, name)
    return {} if found is None else {f"{index}.{name}.bias": found.to(torch.bfloat16)}


def convert_int4(gguf: GGUF, shape: Shape, progress: Progress = quiet) -> Packed:
    """Every tensor, ready to save: what is used as it lies in the file, and what is arranged when it is loaded."""
    found: dict[str, Tensor] = {}
    wide: dict[str, Tensor] = {}
    for i in range(shape.n_layers):
        if i % -(-shape.n_layers // PROGRESS_STEPS) == 0:
            progress(f"packing layer {i + 1} of {shape.n_layers}", i / shape.n_layers)
        for name, parts in FUSED.items():
            stored = _fused_q4(gguf, shape, i, parts)
            packed = pack_int4(*stored)
            found[f"{i}.{name}.panels"] = pack4(*stored)
            found[f"{i}.{name}.packed"] = packed.packed
            found[f"{i}.{name}.scales"] = packed.scales
            wide[f"{i}.{name}"] = packed.dense
            found |= _bias(gguf, shape, i, name)
        for norm in ("attn_norm", "ffn_norm"):
            found[f"{i}.{norm}"] = _dense(gguf.tensors[f"blk.{i}.{norm}.weight"])
        for norm in ("attn_q_norm", "attn_k_norm"):
            if entry := gguf.tensors.get(f"blk.{i}.{norm}.weight"):
                found[f"{i}.{norm}"] = _dense(entry)
    embedding = _dense(gguf.tensors["token_embd.weight"])
    output = gguf.tensors.get("output.weight")
    last = _dense(output) if output else embedding
    wide["head"], found["head.scale"] = int8_rows(last)
    if (packed_head := head_panels(last)) is not None:
        found["head.panels"] = packed_head
    found["norm"] = _dense(gguf.tensors["output_norm.weight"])
    found["embedding"] = embedding.to(torch.bfloat16)
    return found, wide


def _save_atomically(tensors: dict[str, Tensor], path: Path) -> None:
    """Another process never sees half a file."""
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


def _packed(gguf: GGUF, shape: Shape, cached: Path, progress: Progress = quiet) -> Packed:
    """The packed tensors from their two files, which are made where they are absent or broken."""
    beside = cached.with_stem(f"{cached.stem}-wide")
    found, wide = _read_packed(cached), _read_packed(beside)
    if found is None or wide is None:
        found, wide = convert_int4(gguf, shape, progress)
        progress("writing the packed weights", 0.95)
        _save_atomically(wide, beside)
        _save_atomically(found, cached)
        progress("packed", 1.0)
    return found, wide


def prepare_int4(path: Path, sha256: str, cache_dir: Path, progress: Progress = quiet) -> None:
    """Packs a file's 4-bit weights as loading would, so that the first load is a warm one. Nothing for other files."""
    gguf = read_gguf(path)
    shape = _shape(gguf, path)
    try:
        if _all_q4(gguf, shape):
            _packed(gguf, shape, cache_dir / packed_name(sha256), progress)
    except KeyError as error:
        raise ModelError("model_corrupt", f"{path} lacks the tensor {error}; fetch it again") from error


def _of_tensors(shape: Shape, found: dict[str, Tensor], wide: dict[str, Tensor]) -> Decoder:
    """The decoder; where the wide matrices were arranged anew, nothing holds on to their file any more."""

    def linear(index: int, name: str) -> Int4Linear:
        key = f"{index}.{name}"
        bias = found.get(f"{key}.bias")
        own = panels(found[f"{key}.panels"], wide[key].shape[0], bias)
        packed, scales = found[f"{key}.packed"], found[f"{key}.scales"]
        return Int4Linear(
            packed, scales, Bf16Matrix(wide[key], arrange=not own or not kernel.wide()), bias, panels=own
        )

    def head_norm(index: int, name: str) -> Norm | None:
        weight = found.get(f"{index}.{name}")
        return None if weight is None else Norm.of(weight, shape.rms_eps)

    layers = [
        Layer(
            attn_norm=Norm.of(found[f"{i}.attn_norm"], shape.rms_eps),
            mlp_norm=Norm.of(found[f"{i}.ffn_norm"], shape.rms_eps),
            q_norm=head_norm(i, "attn_q_norm"),
            k_norm=head_norm(i, "attn_k_norm"),
            qkv=linear(i, "qkv"),
            out=linear(i, "out"),
            gate_up=linear(i, "gate_up"),
            down=linear(i, "down"),
        )
        for i in range(shape.n_layers)
    ]
    head: Linear | None = panels(found.get("head.panels"), len(wide["head"]), exact=True)
    head = head or Int8Head(wide["head"], found["head.scale"])
    norm = Norm.of(found["norm"], shape.rms_eps)
    return Decoder(shape, found["embedding"], layers, norm, head, torch.bfloat16)
