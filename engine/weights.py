"""From named tensors to a decoder, in the weight format asked for."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.decoder import Decoder, Layer, Norm, Shape
from engine.linear import (
    DenseHead,
    DenseLinear,
    Int8Head,
    Linear,
    head_panels,
    int8_rows,
    quantise_int4,
    quantise_int8,
)
from engine.panels import panels
from engine.registry import Format

DTYPES = {
    "int4": torch.bfloat16,
    "int8": torch.bfloat16,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": torch.float32,
}
FUSED = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "out": ("attn_output",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}
# Gives the tensor of a GGUF-style name ("blk.3.attn_q.weight"), rotary rows ordered by halves; KeyError if
# absent.
Get = Callable[[str], Tensor]


def maybe(get: Get, name: str) -> Tensor | None:
    """The tensor, or None when the model has none of that name."""
    try:
        return get(name)
    except KeyError:
        return None


def make_linear(weight: Tensor, bias: Tensor | None, weight_format: Format, device: torch.device) -> Linear:
    """An fp32 matrix [out, in] in the format asked for; matrices the 4-bit kernel can't take stay bf16."""
    dtype = DTYPES[weight_format]
    placed = None if bias is None else bias.to(device, dtype)
    if weight_format in ("int4", "int8") and weight.shape[0] % 32 == 0 and weight.shape[1] % 32 == 0:
        return (quantise_int4 if weight_format == "int4" else quantise_int8)(weight, placed)
    return DenseLinear(weight.to(device, dtype), placed)


def fused(get: Get, index: int, name: str, weight_format: Format, device: torch.device) -> Linear:
    """The matrices of one product of a layer, stacked."""
    weight = torch.cat([get(f"blk.{index}.{part}.weight") for part in FUSED[name]])
    return make_linear(weight, fused_bias(get, index, name), weight_format, device)


def fused_bias(get: Get, index: int, name: str) -> Tensor | None:
    """What one product of a layer adds: zeros for those of its matrices that have no bias, None where none has one."""
    found = {part: maybe(get, f"blk.{index}.{part}.bias") for part in FUSED[name]}
    if all(bias is None for bias in found.values()):
        return None
    for part, bias in found.items():
        if bias is None:
            found[part] = torch.zeros(get(f"blk.{index}.{part}.weight").shape[0])
    return torch.cat([bias for bias in found.values() if bias is not None])


def build_decoder(shape: Shape, get: Get, weight_format: Format, device: torch.device) -> Decoder:
    """A decoder from named fp32 tensors. Raises `KeyError` for a missing one."""

    def norm(name: str) -> Norm:
        return Norm.of(get(name).to(device), shape.rms_eps)

    def head_norm(name: str) -> Norm | None:
        weight = maybe(get, name)
        return None if weight is None else Norm.of(weight.to(device), shape.rms_eps)

    layers = [
        Layer(
            attn_norm=norm(f"blk.{i}.attn_norm.weight"),
            mlp_norm=norm(f"blk.{i}.ffn_norm.weight"),
            q_norm=head_norm(f"blk.{i}.attn_q_norm.weight"),
            k_norm=head_norm(f"blk.{i}.attn_k_norm.weight"),
            qkv=fused(get, i, "qkv", weight_format, device),
            out=fused(get, i, "out", weight_format, device),
            gate_up=fused(get, i, "gate_up", weight_format, device),
            down=fused(get, i, "down", weight_format, device),
        )
        for i in range(shape.n_layers)
    ]
    dtype = DTYPES[weight_format]
    embedding = get("token_embd.weight")
    output = maybe(get, "output.weight")
    head: Linear
    if weight_format in ("int4", "int8"):
        last = embedding if output is None else output
        head = panels(head_panels(last), last.shape[0], exact=True) or Int8Head(*int8_rows(last))
        placed = embedding.to(dtype)
    else:
        placed = embedding.to(device, dtype)
        head = DenseHead(placed if output is None else output.to(device, dtype))
    return Decoder(shape, placed, layers, norm("output_norm.weight"), head, dtype)
