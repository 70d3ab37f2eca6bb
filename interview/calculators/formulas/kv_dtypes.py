"""How many bytes one cached vector takes in each KV dtype, scales included."""

from __future__ import annotations

from dataclasses import dataclass

MLA_LATENT = 512
MLA_ROPE = 64


@dataclass(frozen=True, slots=True)
class KvDtype:
    """A cache format: `block` values share `block_bytes`; `vector_extra` bytes come with every vector."""

    name: str
    title: str
    block: int
    block_bytes: int
    vector_extra: int = 0

    def vector_bytes(self, values: int) -> int:
        """Bytes of one vector of `values` numbers (one head's key or value, or one MLA latent)."""
        return -(-values // self.block) * self.block_bytes + self.vector_extra


DTYPES = {
    d.name: d
    for d in (
        KvDtype("fp32", "fp32, 4 bytes", 1, 4),
        KvDtype("fp16", "fp16, 2 bytes", 1, 2),
        KvDtype("bf16", "bf16, 2 bytes", 1, 2),
        KvDtype("fp8", "fp8, 1 byte", 1, 1),
        KvDtype("int8", "int8 with a scale per token and head", 1, 1, vector_extra=4),
        KvDtype("q8_0", "q8_0, 34 bytes per 32", 32, 34),
        KvDtype("q4_0", "q4_0, 18 bytes per 32", 32, 18),
        KvDtype("nvfp4", "nvfp4, 9 bytes per 16", 16, 9),
        KvDtype("fp8_ds_mla", "fp8_ds_mla, 656 bytes per MLA token", 576, 656),
    )
}
CHOICES = tuple((d.name, d.title) for d in DTYPES.values())
# What configs, PyTorch, llama.cpp and vLLM call them.
ALSO = (
    ("float32", "fp32"),
    ("f32", "fp32"),
    ("float16", "fp16"),
    ("f16", "fp16"),
    ("half", "fp16"),
    ("bfloat16", "bf16"),
    ("fp8_e4m3", "fp8"),
    ("fp8_e5m2", "fp8"),
    ("float8_e4m3fn", "fp8"),
    ("int8_per_token_head", "int8"),
)
