"""Accelerators: dense peak in bf16 or fp16, memory bandwidth and memory, as their data sheets state them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One card: TFLOP/s without sparsity, GB/s, GB."""

    name: str
    title: str
    tflops: float
    bandwidth: float
    memory: float


ACCELERATORS = {
    a.name: a
    for a in (
        Accelerator("b200", "NVIDIA B200", 2250, 8000, 180),
        Accelerator("h200", "NVIDIA H200 SXM", 989.4, 4800, 141),
        Accelerator("h100", "NVIDIA H100 SXM", 989.4, 3350, 80),
        Accelerator("a100-80", "NVIDIA A100 80GB SXM", 312, 2039, 80),
        Accelerator("a100-40", "NVIDIA A100 40GB SXM", 312, 1555, 40),
        Accelerator("l40s", "NVIDIA L40S", 362, 864, 48),
        Accelerator("l4", "NVIDIA L4", 121, 300, 24),
        Accelerator("t4", "NVIDIA T4", 65, 320, 16),
        Accelerator("rtx4090", "NVIDIA RTX 4090", 165.2, 1008, 24),
        Accelerator("mi300x", "AMD MI300X", 1307.4, 5300, 192),
    )
}
OWN = "own"
CHOICES = (*((a.name, a.title) for a in ACCELERATORS.values()), (OWN, "own machine"))
