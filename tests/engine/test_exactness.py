"""The decoder beside transformers' own implementation, in fp32."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine import Request, Sampling
from engine.decoder import Segment
from engine.gguf_file import read_gguf
from engine.gguf_weights import load_gguf, shape_of
from engine.hf import hf_name
from engine.llm import Engine
from engine.registry import DEFAULT_MODEL, MODELS
from tests.engine.tiny import VOCAB, decoder_of, oracle, tiny_engine

FAMILIES: list[tuple[str, dict[str, Any]]] = [
    ("llama", {}),
    ("llama", {"tie_word_embeddings": True, "num_key_value_heads": 4}),
    ("llama", {"attention_bias": True, "num_key_value_heads": 1}),
    ("mistral", {"sliding_window": None, "head_dim": 32}),
    ("qwen2", {}),
    ("qwen3", {"head_dim": 32}),
    ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}}),
    (
        "llama",
        {
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 10000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            }
        },
    ),
    (
        "llama",
        {
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 128,
            }
        },
    ),
]


def prompt(seed: int, size: int) -> list[int]:
    return random.Random(seed).choices(range(256), k=size)


@pytest.mark.parametrize(("family", "changes"), FAMILIES)
def test_logits_agree_at_every_position(family: str, changes: dict[str, Any]) -> None:
    model = oracle(family, **changes)
    decoder = decoder_of(model)
    ids = torch.tensor(prompt(1, 150))
    with torch.inference_mode():
        expected = model(ids[None]).logits[0]
    found = decoder.logits(decoder.forward(ids, [Segment(decoder.new_cache(150), 150)]))
    assert float((found - expected).abs().max()) <= 1e-3


def test_chunks_caches_and_ragged_batches_change_nothing() -> None:
    model = oracle()
    decoder = decoder_of(model)
    sequences = [torch.tensor(prompt(n, size)) for n, size in enumerate((5, 40, 97))]
    with torch.inference_mode():
        expected = [model(s[None]).logits[0] for s in sequences]
    caches = [decoder.new_cache(100) for _ in sequences]
    steps = random.Random(3)
    done = [0, 0, 0]
    while any(d < len(s) for d, s in zip(done, sequences, strict=True)):
        live = [i for i, s in enumerate(sequences) if done[i] < len(s)]
        take = [min(steps.randint(1, 20), len(sequences[i]) - done[i]) for i in live]
        ids = torch.cat([sequences[i][done[i] : done[i] + n] for i, n in zip(live, take, strict=True)])
        segments = [Segment(caches[i], n) for i, n in zip(live, take, strict=True)]
        rows = decoder.logits(decoder.forward(ids, segments)).split(take)
        for i, n, found in zip(live, take, rows, strict=True):
            assert float((found - expected[i][done[i] : done[i] + n]).abs().max()) <= 1e-3
            done[i] += n


def is_greedy(model: Any, ids: list[int], output: list[int]) -> bool:
    """True when every output token is the oracle's first choice given all before it: then greedy decoding is
    equal.
    """
    with torch.inference_mode():
        logits = model(torch.tensor([ids + output])).logits[0]
    return bool(logits[len(ids) - 1 : -1].argmax(-1).tolist() == output)


def text_of(seed: int, size: int) -> str:
    return "".join(random.Random(seed).choices("abcdefgh ijklmn.", k=size))


def test_greedy_output_is_token_identical_alone_and_in_any_company() -> None:
    model = oracle(seed=4)
    prompts = [text_of(n, 3 + 7 * n) for n in range(12)]
    s = Sampling(max_tokens=40)
    with tiny_engine(model, chunk=16, max_batch=5) as engine:
        alone = [list(engine.generate(Request(prompt=p, sampling=s)).token_ids) for p in prompts]
        handles = [engine.submit(Request(prompt=p, sampling=s)) for p in prompts]
        together = [list(h.result(60).token_ids) for h in handles]
    assert together == alone
    assert all(is_greedy(model, list(p.encode()), out) for p, out in zip(prompts, alone, strict=True))
    assert max(t for row in alone for t in row) < VOCAB


def dequantised_oracle(path: Path) -> Any:
    """transformers' Llama with the file's weights, read and dequantised by the `gguf` package."""
    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
    shape = shape_of(read_gguf(path).metadata)
    config = LlamaConfig(
        vocab_size=shape.vocab_size, hidden_size=shape.hidden_size, intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.n_layers, num_attention_heads=shape.n_heads, rms_norm_eps=shape.rms_eps,
        num_key_value_heads=shape.n_kv_heads, max_position_embeddings=shape.context_length,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta}, tie_word_embeddings=True,
    )  # fmt: skip
    state = {}
    for name, tensor in tensors.items():
        found = torch.tensor(gguf.quants.dequantize(tensor.data, tensor.tensor_type))
        for part, heads in (("attn_q", shape.n_heads), ("attn_k", shape.n_kv_heads)):
            if f".{part}." in name:
                # llama.cpp stores rotary rows as pairs; transformers wants the two halves of a head.
                pairs = found.reshape(heads, -1, 2, found.shape[1])
                found = torch.cat([pairs[:, :, 0], pairs[:, :, 1]], 1).reshape(found.shape)
        state[hf_name(name)] = found
    model = LlamaForCausalLM(config).eval()
    missing = model.load_state_dict(state, strict=False)
    assert missing.missing_keys == ["lm_head.weight"] and not missing.unexpected_keys
    model.tie_weights()
    return model


@pytest.mark.slow
@pytest.mark.timeout(600)  # the model in fp32, twice: minutes on a busy machine
def test_the_real_model_agrees_over_fifty_prompts(models_dir: Path) -> None:
    spec = MODELS[DEFAULT_MODEL]
    folder = models_dir / DEFAULT_MODEL
    topics = [
        "the sea",
        "a proof",
        "tax law",
        "Python",
        "bread",
        "gravity",
        "a poem",
        "history",
        "chess",
        "rain",
    ]
    forms = ["Explain {}.", "Write about {}", "{} is", "Q: What is {}?\nA:", "List facts on {}:"]
    prompts = [form.format(topic) for topic in topics for form in forms]
    with Engine.load(models_dir=models_dir, threads=2, weight_format="fp32") as engine:
        handles = [engine.submit(Request(prompt=p, sampling=Sampling(max_tokens=64))) for p in prompts]
        runs = [(engine.tokenizer.encode(p), h.result(170)) for p, h in zip(prompts, handles, strict=True)]
    model = dequantised_oracle(folder / spec.weights)
    decoder = load_gguf(folder / spec.weights, "", "fp32")
    for index, (ids, result) in enumerate(runs):
        assert is_greedy(model, ids, list(result.token_ids)), prompts[index]
        if index % 10 == 0:
            whole = torch.tensor(ids + list(result.token_ids))
            found = decoder.logits(
                decoder.forward(whole, [Segment(decoder.new_cache(len(whole)), len(whole))])
            )
            with torch.inference_mode():
                assert float((found - model(whole[None]).logits[0]).abs().max()) <= 1e-3
