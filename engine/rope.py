"""Rotary position tables and the ways models stretch them to longer contexts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

RopeKind = Literal["none", "linear", "dynamic", "llama3", "yarn", "factors"]


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """How the angles are stretched; fields that a kind doesn't use are ignored."""

    kind: RopeKind = "none"
    factor: float = 1.0
    original_context: int = 0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    factors: tuple[float, ...] = ()


def inverse_frequencies(dim: int, theta: float, scaling: RopeScaling, context: int) -> tuple[Tensor, float]:
    """theta^(-2i/dim) [dim/2], stretched, and the factor cos and sin are multiplied by (1 unless yarn)."""
    steps = torch.arange(0, dim, 2, dtype=torch.int64).float() / dim
    if scaling.kind == "dynamic":
        # Neural tangent kernel scaling at the model's full context (transformers' "dynamic").
        theta *= (
            (scaling.factor * context / (scaling.original_context or context)) - (scaling.factor - 1)
        ) ** (dim / (dim - 2))
    frequencies = 1.0 / theta**steps
    if scaling.kind == "linear":
        return frequencies / scaling.factor, 1.0
    if scaling.kind == "llama3":
        return _llama3(frequencies, scaling), 1.0
    if scaling.kind == "yarn":
        return _yarn(frequencies, dim, theta, scaling)
    if scaling.kind == "factors":
        return frequencies / torch.tensor(scaling.factors), 1.0
    return frequencies, 1.0


def _llama3(frequencies: Tensor, scaling: RopeScaling) -> Tensor:
    """Llama 3.1: long wavelengths are divided by the factor, short ones kept, a ramp between."""
    wavelength = 2 * math.pi / frequencies
    turns = scaling.original_context / wavelength
    ramp = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    ramp = ramp.clamp(0, 1)
    return (1 - ramp) * frequencies / scaling.factor + ramp * frequencies


def _yarn(frequencies: Tensor, dim: int, theta: float, scaling: RopeScaling) -> tuple[Tensor, float]:
    """YaRN (arXiv 2309.00071): interpolate slow dimensions, keep fast ones, scale attention."""

    def dimension(turns: float) -> float:
        return dim * math.log(scaling.original_context / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low = max(math.floor(dimension(scaling.beta_fast)), 0)
    high = min(math.ceil(dimension(scaling.beta_slow)), dim - 1)
    ramp = ((torch.arange(dim // 2).float() - low) / max(high - low, 0.001)).clamp(0, 1)
    factor = scaling.attention_factor
    if factor is None:
        factor = 0.1 * math.log(scaling.factor) + 1.0 if scaling.factor > 1 else 1.0
    return frequencies / scaling.factor * ramp + frequencies * (1 - ramp), factor


def rope_tables(dim: int, context: int, theta: float, scaling: RopeScaling) -> tuple[Tensor, Tensor]:
    """cos and signed sin [context, 1, dim] in fp32; the first half of sin is negative, as rotating by halves
    needs.
    """
    frequencies, factor = inverse_frequencies(dim, theta, scaling, context)
    angles = torch.outer(torch.arange(context).float(), frequencies)
    cos, sin = angles.cos() * factor, angles.sin() * factor
    return torch.cat([cos, cos], -1)[:, None], torch.cat([-sin, sin], -1)[:, None]
