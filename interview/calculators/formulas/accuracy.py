"""Published numbers - logs, tables, issues, papers - beside what the calculators say for the same input."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from urllib.parse import parse_qsl

from interview.calculators.formulas.registry import CALCULATORS, run

KV, GITHUB = "kv-cache", "https://github.com/"
R1, LLAMA = "model=deepseek-ai/DeepSeek-R1", "model=meta-llama/Meta-Llama-3.1-8B"
HYBRID = "model=Qwen/Qwen3.5-35B-A3B&tokens=131072&dtype=fp8&mode=vllm&mamba_cache_mode=align"


@dataclass(frozen=True, slots=True)
class Published:
    """One number somebody published: where, for which input, and what others make of it."""

    label: str
    slug: str
    query: str
    result: str
    value: float
    unit: str
    source: str
    tolerance: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A published number and ours."""

    published: Published
    ours: float
    agrees: bool


CASES = (
    Published(
        "Llama 3.1 8B, 128,000 tokens, fp16",
        KV,
        f"{LLAMA}&tokens=128000",
        "bytes",
        16_777_216_000,
        "bytes",
        f"{GITHUB}huggingface/blog/issues/2345",
        note="printed as 15.62 GB, meant GiB",
    ),
    Published(
        "vLLM, 1,952 blocks of 16",
        KV,
        f"{LLAMA}&tokens=20000&dtype=bf16&mode=vllm&blocks=1952",
        "token_capacity",
        31_232,
        "tokens",
        f"{GITHUB}vllm-project/vllm/issues/10517",
    ),
    Published(
        "the same pool, requests of 20,000",
        KV,
        f"{LLAMA}&tokens=20000&dtype=bf16&mode=vllm&blocks=1952",
        "max_concurrency",
        1.56,
        "requests",
        f"{GITHUB}vllm-project/vllm/issues/10517",
        0.005,
    ),
    Published(
        "1,478 blocks, requests of 29,000",
        KV,
        f"{LLAMA}&tokens=29000&dtype=bf16&mode=vllm&blocks=1478",
        "max_concurrency",
        0.82,
        "requests",
        f"{GITHUB}vllm-project/vllm/issues/10517",
        0.005,
    ),
    Published(
        "DeepSeek-R1 latent, q8_0, 32,768 tokens",
        KV,
        f"{R1}&tokens=32768&dtype=q8_0",
        "bytes",
        1_223_294_976,
        "bytes",
        f"{GITHUB}ikawrakow/ik_llama.cpp/pull/259",
        note="log: 1166.62 MiB",
    ),
    Published(
        "LLaMA 30B, 512 tokens, fp32",
        KV,
        "model=huggyllama/llama-30b&tokens=512&dtype=fp32",
        "bytes",
        1560 * 2**20,
        "bytes",
        f"{GITHUB}abetlen/llama-cpp-python/issues/66",
        note="the log says MB and means MiB",
    ),
    Published(
        "LLaMA 30B, 512 tokens, fp16",
        KV,
        "model=huggyllama/llama-30b&tokens=512",
        "bytes",
        780 * 2**20,
        "bytes",
        f"{GITHUB}abetlen/llama-cpp-python/issues/66",
    ),
    Published(
        "Qwen3 4B, 4,096 tokens, bf16",
        KV,
        "model=Qwen/Qwen3-4B&tokens=4096&dtype=bf16",
        "bytes",
        576 * 2**20,
        "bytes",
        f"{GITHUB}LMCache/LMCache/issues/688",
        note="360 MiB with head_dim as hidden/heads",
    ),
    Published(
        "Gemma 4 31B in 24.54 GiB, as vLLM’s log counted it",
        KV,
        "model=google/gemma-4-31B-it&tokens=4096&dtype=bf16&mode=vllm&memory_gib=24.54",
        "token_capacity_in_older_logs",
        26_800,
        "tokens",
        f"{GITHUB}alvarobartt/hf-mem/pull/61",
        note="a block in each of six groups for every 16 tokens",
    ),
    Published(
        "Qwen3.5 35B-A3B (hybrid) in 5.98 GiB, fp8, prefix caching",
        KV,
        f"{HYBRID}&memory_gib=5.98",
        "token_capacity",
        567_978,
        "tokens",
        f"{GITHUB}noonghunna/club-3090/issues/612",
        note="the log’s tokens are requests at once × 131,072",
    ),
    Published(
        "the same pool, requests of 131,072",
        KV,
        f"{HYBRID}&memory_gib=5.98",
        "max_concurrency",
        4.33,
        "requests",
        f"{GITHUB}noonghunna/club-3090/issues/612",
        0.005,
    ),
    Published(
        "Nemotron Nano 9B v2 (hybrid), tokens of a block",
        KV,
        "layers=4&kv_heads=8&head_dim=128&state_layers=27&state_bytes=72769536&tokens=4096&dtype=bf16&mode=vllm",
        "block_tokens",
        672,
        "tokens",
        f"{GITHUB}vllm-project/vllm/issues/24280",
        note="raised from 16, so that a page holds the state of a layer",
    ),
    Published(
        "GPT-2 small, all parameters",
        "parameters",
        "model=openai-community/gpt2",
        "parameters",
        124_439_808,
        "parameters",
        f"{GITHUB}huggingface/transformers/issues/14960",
        note="163,037,184 with the tied head added",
    ),
    Published(
        "Llama 2 7B, all parameters",
        "parameters",
        "model=meta-llama/Llama-2-7b-hf",
        "parameters",
        6_738_415_616,
        "parameters",
        "the model card",
    ),
    Published(
        "“hello 👋 world 🌍” in r50k",
        "tokens",
        "text=hello 👋 world 🌍&encoding=r50k_base",
        "tokens",
        7,
        "tokens",
        f"{GITHUB}latitudegames/GPT-3-Encoder/issues/1",
        note="a port gave 4",
    ),
    Published(
        "“<|endoftext|>” as text in o200k",
        "tokens",
        "text=<|endoftext|>&encoding=o200k_base",
        "tokens",
        7,
        "tokens",
        f"{GITHUB}RooCodeInc/Roo-Code/issues/7539",
    ),
    Published(
        "a ChatML chat for GPT-3.5",
        "tokens",
        "text=system: You are a helpful assistant\nuser: Yes, please help&chat=1&generation_prompt=1",
        "tokens",
        22,
        "tokens",
        f"{GITHUB}dqbd/tiktokenizer/issues/12",
    ),
    Published(
        "a bill with a cache write",
        "cost",
        "accounting=separate&input_tokens=3&cache_write_tokens=12304&output_tokens=550&input_usd=3&cache_write_usd=3.75&cache_read_usd=0.3&output_usd=15",
        "usd",
        0.05439,
        "USD",
        f"{GITHUB}BerriAI/litellm/issues/9812",
        0.00001,
        "a tool said 0.0913",
    ),
    Published(
        "a bill with a cached prompt",
        "cost",
        "accounting=inclusive&input_tokens=20212&cache_read_tokens=16298&output_tokens=931&input_usd=0.5&cache_read_usd=0.05&output_usd=3",
        "usd",
        0.0056,
        "USD",
        f"{GITHUB}earendil-works/pi/pull/2148",
        0.00005,
        "a tool said 0.0137",
    ),
)


@cache
def compared() -> tuple[Compared, ...]:
    """Every published number beside ours, computed by this process (once: nothing but the code decides them)."""
    return tuple(_compare(case) for case in CASES)


def _compare(case: Published) -> Compared:
    outcome = run(CALCULATORS[case.slug], dict(parse_qsl(case.query)))
    assert outcome.result, outcome.errors
    ours = float(outcome.result.results[case.result])
    return Compared(case, ours, abs(ours - case.value) <= case.tolerance)
