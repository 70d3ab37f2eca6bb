"""The words of the KV cache calculator: what the number means, the usual mistake, presets, sources."""

from __future__ import annotations

from interview.calculators.formulas import kv_own
from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.kv_cache import kv_cache
from interview.calculators.formulas.kv_config import read_config
from interview.calculators.formulas.kv_inputs import KvCacheInputs

CALCULATOR = Calculator(
    slug="kv-cache",
    title="KV cache",
    summary="Bytes that keys and values take for a model, a length and a number of users.",
    inputs=KvCacheInputs,
    compute=kv_cache,
    prepare=kv_own.prepare,
    from_config=read_config,
    formula="layers * 2 * kv_heads * head_dim * tokens * sequences * bytes_per_value",
    formula_name="bytes",
    meaning=(
        "While a model writes, it keeps the key and the value of every earlier token in every layer, so "
        "that it need not compute them again. That memory grows in step with tokens and users, and it, "
        "not the weights, decides how many people one GPU can serve at a long context."
    ),
    usual_mistake=(
        "Multiplying by the query heads. With grouped-query attention only the KV heads are stored: 8 "
        "instead of 96 turns 19.3 GB into 1.6 GB. The second is taking head_dim as hidden size over "
        "heads, which many configs contradict."
    ),
    sources=(
        "Grouped-query attention: arXiv 2305.13245",
        "Multi-head latent attention: DeepSeek-V2, arXiv 2405.04434",
        "llama.cpp cache sizes: src/llama-kv-cache-iswa.cpp and ggml block types",
        "vLLM page counts: vllm/v1/kv_cache_interface.py; groups and pool: vllm/v1/core/kv_cache_utils.py",
    ),
    presets=(
        Preset("GPT-3, 4,096 tokens", "model=openai/gpt-3-175b&tokens=4096"),
        Preset("the same with 8 KV heads", "model=openai/gpt-3-175b&kv_heads=8&tokens=4096"),
        Preset("DeepSeek-R1 latent in q8_0", "model=deepseek-ai/DeepSeek-R1&tokens=32768&dtype=q8_0"),
        Preset("Gemma 3 27B, windows", "model=google/gemma-3-27b-it&tokens=131072&dtype=bf16"),
        Preset(
            "vLLM pool of 1,952 blocks",
            "model=meta-llama/Meta-Llama-3.1-8B&tokens=20000&dtype=bf16&mode=vllm&blocks=1952",
        ),
    ),
)
