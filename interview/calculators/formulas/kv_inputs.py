"""What the KV calculator takes, from page, link, JSON and command line alike."""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.kv_dtypes import ALSO, CHOICES
from interview.calculators.formulas.kv_modes import MODES
from interview.calculators.formulas.parameters import choice, flag, model, real, whole

STATE_DTYPES = (("fp32", "fp32"), ("bf16", "2 bytes (the model’s dtype)"))
STATE_MODES = (("none", "one a request"), ("align", "two: prefix caching (align)"))


@dataclass(frozen=True, slots=True)
class KvCacheInputs:
    """What the KV calculator takes; geometry fields are for `model=own`, two of them override a model."""

    model: str = model("meta-llama/Meta-Llama-3.1-8B", "Model", own=True)
    layers: int | None = whole(None, "Layers with a cache", high=10**5, group="Own geometry")
    kv_heads: int | None = whole(
        None, "KV heads", high=10**5, group="Own geometry", hint="overrides the model’s"
    )
    head_dim: int | None = whole(
        None, "Head dimension", high=10**5, group="Own geometry", hint="head_dim of the config"
    )
    heads: int | None = whole(
        None, "Query heads", high=10**5, group="Own geometry", hint="for the comparison only"
    )
    hidden: int | None = whole(
        None, "Hidden size", high=10**7, group="Own geometry", hint="for the comparison only"
    )
    window: int | None = whole(None, "Window", unit="tokens", group="Own geometry")
    window_layers: int | None = whole(None, "Layers with the window", low=0, high=10**5, group="Own geometry")
    full_kv_heads: int | None = whole(None, "KV heads of full layers", high=10**5, group="Own geometry")
    full_head_dim: int | None = whole(None, "Head dimension of full layers", high=10**5, group="Own geometry")
    kv_lora_rank: int | None = whole(
        None, "MLA latent", high=10**5, group="Own geometry", hint="kv_lora_rank"
    )
    rope_dim: int | None = whole(None, "MLA rope key", low=0, high=10**5, group="Own geometry")
    state_bytes: int | None = whole(
        None, "Constant state", unit="bytes a sequence", low=0, high=10**13, group="Own geometry"
    )
    state_layers: int | None = whole(
        None, "Layers with a state", high=10**5, group="Own geometry", hint="1 if empty"
    )
    context: int | None = whole(
        None, "Context length", unit="tokens", group="Own geometry", hint="for warnings only"
    )
    tokens: int = whole(128_000, "Tokens", unit="tokens a sequence", slider=True)
    sequences: int = whole(1, "Sequences", high=10**6, hint="users or slots at once")
    shared_prefix: int = whole(0, "Shared prefix", unit="tokens", low=0, hint="stored once for all sequences")
    dtype: str = choice("fp16", "Cache dtype", CHOICES, also=ALSO)
    mode: str = choice("needed", "Counted as", MODES, segmented=True)
    tensor_parallel: int = whole(1, "Tensor parallel", unit="GPUs", high=4096, group="Memory")
    memory_gib: float | None = real(
        None, "Memory for the cache", unit="GiB a GPU", low=1e-6, high=1e9, group="Memory"
    )
    state_dtype: str = choice("fp32", "Recurrent state kept as", STATE_DTYPES, group="Memory")
    ubatch: int = whole(512, "ubatch", high=10**7, group="llama.cpp")
    unified: bool = flag("one cache for all slots (unified)", group="llama.cpp")
    swa_full: bool = flag("windows off (--swa-full)", group="llama.cpp")
    block: int = whole(16, "Block size", unit="tokens", high=10**6, group="vLLM")
    batched_tokens: int = whole(8192, "max_num_batched_tokens", high=10**8, group="vLLM")
    no_hybrid: bool = flag("hybrid cache manager off", group="vLLM")
    mamba_cache_mode: str = choice("none", "Constant state", STATE_MODES, group="vLLM")
    blocks: int | None = whole(None, "GPU blocks", high=10**10, group="vLLM", hint="from the start-up log")
