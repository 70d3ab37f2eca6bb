"""GGUF files in each quantisation that is read, and each way of stretching the angles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from engine.decoder import Decoder, Segment
from engine.encoders import byte_letters
from engine.errors import ModelError
from engine.gguf_file import dequantise, read_gguf
from engine.gguf_weights import load_gguf, scaling_of, shape_of
from engine.linear import Int4Linear, Int8Linear, quantise_int8
from engine.rope import inverse_frequencies
from engine.sources import Source, default_format
from engine.tokenizer import from_gguf
from tests.engine.tiny import oracle

HIDDEN, HEADS, KV_HEADS, WIDTH, VOCAB, LAYERS = 64, 4, 2, 96, 128, 2
IDS = torch.arange(3, 23)


def matrices() -> dict[str, np.ndarray[Any, Any]]:
    drawn = np.random.default_rng(0)
    kv = HIDDEN // HEADS * KV_HEADS
    shapes = {"token_embd.weight": (VOCAB, HIDDEN)}
    for i in range(LAYERS):
        shapes |= {
            f"blk.{i}.attn_q.weight": (HIDDEN, HIDDEN),
            f"blk.{i}.attn_k.weight": (kv, HIDDEN),
            f"blk.{i}.attn_v.weight": (kv, HIDDEN),
            f"blk.{i}.attn_output.weight": (HIDDEN, HIDDEN),
            f"blk.{i}.ffn_gate.weight": (WIDTH, HIDDEN),
            f"blk.{i}.ffn_up.weight": (WIDTH, HIDDEN),
            f"blk.{i}.ffn_down.weight": (HIDDEN, WIDTH),
        }
    return {name: drawn.normal(0, 0.15, shape).astype(np.float32) for name, shape in shapes.items()}


def written(path: Path, kind: gguf.GGMLQuantizationType, factors: list[float] | None = None) -> Path:
    """A tiny llama, its matrices quantised by the gguf package."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCAB)
    writer.add_token_list([str(i) for i in range(VOCAB)])
    for name, matrix in matrices().items():
        writer.add_tensor(name, gguf.quants.quantize(matrix, kind), raw_dtype=kind)
    for i in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{i}.{norm}.weight", np.ones(HIDDEN, dtype=np.float32))
    writer.add_tensor("output_norm.weight", np.ones(HIDDEN, dtype=np.float32))
    if factors:
        writer.add_tensor("rope_freqs.weight", np.array(factors, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def logits(decoder: Decoder) -> torch.Tensor:
    cache = decoder.new_cache(len(IDS))
    return decoder.logits(decoder.forward(IDS, [Segment(cache, len(IDS))])).float()


KINDS = gguf.GGMLQuantizationType


@pytest.mark.parametrize(
    ("kind", "form", "sort"),
    [
        (KINDS.Q4_0, "int4", Int4Linear),
        (KINDS.Q4_1, "int4", Int4Linear),
        (KINDS.Q8_0, "int8", Int8Linear),
    ],
)
def test_a_file_is_kept_in_its_own_precision(tmp_path: Path, kind: Any, form: Any, sort: type) -> None:
    path = written(tmp_path / "tiny.gguf", kind)
    source = Source("tiny", "gguf", path, path.parent, "")
    assert default_format(source, "cpu") == form
    own, wide = load_gguf(path, "0" * 64, form), load_gguf(path, "0" * 64, "fp32")
    assert isinstance(own.layers[0].down, sort)
    seen, exact = logits(own), logits(wide)
    assert (seen.argmax(-1) == exact.argmax(-1)).float().mean() >= 0.9
    divergence = torch.nn.functional.kl_div(seen.log_softmax(-1), exact.softmax(-1), reduction="batchmean")
    assert divergence < 0.01


def test_eight_bits_come_out_as_they_were_stored(tmp_path: Path) -> None:
    entry = read_gguf(written(tmp_path / "tiny.gguf", KINDS.Q8_0)).tensors["blk.0.ffn_down.weight"]
    stored = torch.from_numpy(dequantise(entry).copy())
    linear = quantise_int8(stored)
    torch.testing.assert_close(linear.dense, stored.to(torch.bfloat16), rtol=0, atol=0)
    x = torch.randn(5, WIDTH, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    few = linear(x).float()
    many = linear(x.repeat(8, 1)).float()[:5]
    exact = x.float() @ stored.T
    for product in (few, many):
        assert (product - exact).abs().max() < 0.02 * exact.abs().max()


def test_a_divisor_for_each_frequency_is_applied(tmp_path: Path) -> None:
    factors = [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 8.0]
    decoder = load_gguf(written(tmp_path / "tiny.gguf", KINDS.Q8_0, factors), "0" * 64, "fp32")
    plain = load_gguf(written(tmp_path / "plain.gguf", KINDS.Q8_0), "0" * 64, "fp32")
    shape = decoder.shape
    stretched, _ = inverse_frequencies(16, 10_000.0, shape.rope_scaling, 64)
    even, _ = inverse_frequencies(16, 10_000.0, plain.shape.rope_scaling, 64)
    torch.testing.assert_close(stretched, even / torch.tensor(factors))
    assert not torch.allclose(logits(decoder), logits(plain))


def test_yarn_is_read_and_an_unknown_stretching_is_refused(tmp_path: Path) -> None:
    meta = read_gguf(written(tmp_path / "tiny.gguf", KINDS.Q8_0)).metadata
    key = "llama.rope.scaling."
    yarn = {f"{key}type": "yarn", f"{key}factor": 4.0, f"{key}original_context_length": 16}
    found = shape_of(meta | yarn).rope_scaling
    assert (found.kind, found.factor, found.original_context) == ("yarn", 4.0, 16)
    assert scaling_of(meta | {f"{key}type": "linear", f"{key}factor": 2.0}).factor == 2.0
    with pytest.raises(ModelError, match="longrope"):
        scaling_of(meta | {f"{key}type": "longrope"})


def converted(
    model: Any, path: Path, kind: gguf.GGMLQuantizationType, left_out: tuple[str, ...] = ()
) -> Path:
    """transformers' model as llama.cpp's converter writes it: names by the gguf package, no rows reordered for Qwen."""
    config = model.config
    writer = gguf.GGUFWriter(path, config.model_type)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(
        getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    )
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_token_list([str(i) for i in range(config.vocab_size)])
    arch = {"qwen2": gguf.MODEL_ARCH.QWEN2, "qwen3": gguf.MODEL_ARCH.QWEN3}[config.model_type]
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        array = weight.numpy().astype(np.float32)
        own = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if own in left_out:
            continue
        if array.ndim == 1:
            writer.add_tensor(own, array)
        else:
            writer.add_tensor(own, gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
def test_a_qwen_file_speaks_as_transformers_does(tmp_path: Path, family: str) -> None:
    wide = {"head_dim": 32} if family == "qwen3" else {}
    model = oracle(family, seed=3, vocab_size=VOCAB, bos_token_id=1, eos_token_id=2, pad_token_id=0, **wide)
    with torch.inference_mode():
        expected = model(IDS[None]).logits[0]
    exact = load_gguf(converted(model, tmp_path / "exact.gguf", KINDS.F32), "0" * 64, "fp32")
    torch.testing.assert_close(logits(exact), expected, atol=1e-3, rtol=0)
    path = converted(model, tmp_path / "small.gguf", KINDS.Q4_1)
    stored = load_gguf(path, "1" * 64, "fp32")
    for own in (load_gguf(path, "1" * 64, "int4"), load_gguf(path, "1" * 64, "int4")):
        assert isinstance(own.layers[0].qkv, Int4Linear)
        assert (own.layers[0].qkv.bias is not None) == (family == "qwen2")
        seen, meant = logits(own), logits(stored)
        assert (seen - meant).abs().max() < 0.05 * meant.abs().max()
    assert len(list(tmp_path.glob("packed-*"))) == 2


@pytest.mark.parametrize("form", ["fp32", "int8", "int4"])
def test_a_matrix_without_a_bias_beside_others_that_have_one(tmp_path: Path, form: Any) -> None:
    """What isn't there adds nothing; the others' biases stay with their own rows."""
    model = oracle("qwen2", seed=3, vocab_size=VOCAB, bos_token_id=1, eos_token_id=2, pad_token_id=0)
    gone = ("blk.0.attn_q.bias", "blk.1.attn_v.bias")
    less = load_gguf(converted(model, tmp_path / "less.gguf", KINDS.Q4_1, gone), "0" * 64, form)
    with torch.no_grad():
        model.model.layers[0].self_attn.q_proj.bias.zero_()
        model.model.layers[1].self_attn.v_proj.bias.zero_()
    zeros = load_gguf(converted(model, tmp_path / "zeros.gguf", KINDS.Q4_1), "1" * 64, form)
    assert torch.equal(logits(less), logits(zeros))


def test_an_architecture_that_is_not_read_is_named(tmp_path: Path) -> None:
    meta = read_gguf(written(tmp_path / "tiny.gguf", KINDS.Q8_0)).metadata
    with pytest.raises(ModelError, match="'gemma3'; this loader reads llama, qwen2, qwen3"):
        shape_of(meta | {"general.architecture": "gemma3"})


@pytest.mark.parametrize("gone", ["feed_forward_length", "attention.layer_norm_rms_epsilon"])
def test_a_file_that_lacks_a_size_is_corrupt(
    tmp_path: Path, gone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "tiny.gguf", KINDS.Q8_0)
    whole = read_gguf(path)
    del whole.metadata[f"llama.{gone}"]
    monkeypatch.setattr("engine.gguf_weights.read_gguf", lambda _: whole)
    with pytest.raises(ModelError, match=gone) as caught:
        load_gguf(path, "0" * 64, "fp32")
    assert caught.value.code == "model_corrupt"


def test_qwen_s_tokenizer_is_read_from_a_file() -> None:
    letters = sorted(byte_letters(), key=byte_letters().__getitem__)
    tokens = [*letters, "ab", "<tool_call>", "<|im_end|>"]
    meta = {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * 257 + [4, 3], "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": 258,
    }  # fmt: skip
    tokenizer = from_gguf(meta)
    assert tokenizer.encode("ab<tool_call>ab") == [256, 257, 256]
    assert tokenizer.encode("e\u0301") == tokenizer.encode("\u00e9") == list("\u00e9".encode())
    assert tokenizer.decode([256, 257]) == "ab<tool_call>"
    assert 258 not in tokenizer.encode("<|im_end|>") and tokenizer.eos_ids == {258}


def test_the_model_command_packs_a_file_and_shows_how_far_it_is(tmp_path: Path) -> None:
    path = written(tmp_path / "tiny.gguf", KINDS.Q4_1)
    command = [sys.executable, "-m", "engine", "model", str(path)]
    environment = {**os.environ, "PREFILL_MODELS_DIR": str(tmp_path / "models")}
    (tmp_path / "models").mkdir()
    first, second = (
        subprocess.run(command, capture_output=True, text=True, env=environment, check=True) for _ in range(2)
    )
    assert json.loads(first.stdout) == json.loads(second.stdout)
    assert json.loads(first.stdout)["n_layers"] == LAYERS
    assert "] packing layer 2 of 2" in first.stderr and first.stderr.rstrip().endswith("] packed")
    assert "packing" not in second.stderr
    assert len(list((tmp_path / "models").glob("packed-*.safetensors"))) == 2
