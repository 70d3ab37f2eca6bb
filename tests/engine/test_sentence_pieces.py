"""SentencePiece's BPE out of a GGUF file: the ids that sentencepiece itself gives, and everything built on a tokenizer."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from engine import ModelError, Request, Sampling
from engine.gguf_file import read_gguf
from engine.llm import Engine
from engine.sentence_pieces import SentencePieces
from engine.tokenizer import ModelTokenizer, from_gguf

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "sentence_pieces.json").read_text()
)
WIDTH, HEADS, LAYERS = 64, 4, 2


def written(path: Path) -> Path:
    """A tiny llama with random weights and the recorded vocabulary, as llama.cpp's converter writes one."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(RECORDED["tokens"])
    writer.add_token_scores(RECORDED["scores"])
    writer.add_token_types(RECORDED["types"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(
        "{{ bos_token }}{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"
    )
    drawn = np.random.default_rng(0)
    names = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
    for i in range(LAYERS):
        for name in names:
            matrix = drawn.normal(0, 0.15, (WIDTH, WIDTH)).astype(np.float32)
            writer.add_tensor(f"blk.{i}.{name}.weight", matrix)
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{i}.{norm}.weight", np.ones(WIDTH, dtype=np.float32))
    embedding = drawn.normal(0, 0.15, (len(RECORDED["tokens"]), WIDTH)).astype(np.float32)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("pieces") / "tiny.gguf")


@pytest.fixture(scope="module")
def tokenizer(file: Path) -> ModelTokenizer:
    return from_gguf(read_gguf(file).metadata)


def test_ids_are_sentencepiece_s_own(tokenizer: ModelTokenizer) -> None:
    wrong = [text for text, ids in RECORDED["texts"] if tokenizer.encode(text) != ids]
    assert wrong == [] and len(RECORDED["texts"]) > 80


def test_a_text_comes_back_and_its_tokens_have_places(tokenizer: ModelTokenizer) -> None:
    for text, ids in RECORDED["texts"]:
        if "\u2581" in text:
            continue  # read as a space, as sentencepiece does
        assert tokenizer.decode(ids) == f" {text}"
        assert tokenizer.decode(tokenizer.encode_exactly(text)) == text
        pieces = tokenizer.encoding.pieces(text)
        assert [p.token_id for p in pieces] == ids
        covered = {at for p in pieces for at in range(p.start, p.end)}
        assert covered == set(range(len(text)))


def test_control_tokens_in_a_text_stay_text(tokenizer: ModelTokenizer) -> None:
    assert tokenizer.special == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert not {0, 1, 2} & set(tokenizer.encode("<s>a</s><unk>"))
    assert tokenizer.encode("<s>a</s>", allow_special=True) == [1, *tokenizer.encode("a"), 2]
    assert tokenizer.encode("<0x0A>") != tokenizer.encode("\n")
    assert (tokenizer.eos_ids, tokenizer.bos_id, tokenizer.add_bos) == (frozenset({2}), 1, True)


def test_equal_scores_join_from_the_left_and_unknown_text_is_one_token() -> None:
    tokens = ["<unk>", "a", "b", "aa", "\u2581", "word"]
    own = SentencePieces(tokens, [0, -1, -1, -1, -1, 0], [2, 1, 1, 1, 1, 4], space_first=False)
    assert own.encode("aaa") == [3, 1]
    assert own.encode("abword!a") == [1, 2, 5, 0, 1]
    assert own.encode("") == []


def test_a_long_run_takes_no_time_to_speak_of(tokenizer: ModelTokenizer) -> None:
    began = time.process_time()
    tokenizer.encode("a" * 50_000)
    tokenizer.encode("The capital of France. " * 5_000)
    assert time.process_time() - began < 5


def test_an_engine_speaks_from_such_a_file(file: Path, tmp_path: Path) -> None:
    """One start token however the template writes it; a schema is held, and a stop string never leaks."""
    with Engine.load(str(file), tmp_path, device="cpu", weight_format="fp32") as engine:
        chat = Request.from_dict(
            {"messages": [{"role": "user", "content": "say </s> twice"}], "sampling": {"max_tokens": 4}}
        )
        result = engine.generate(chat)
        assert result.usage["prompt_tokens"] == 1 + len(
            engine.tokenizer.encode("[INST] say </s> twice [/INST]")
        )
        schema = {
            "type": "object",
            "properties": {"n": {"enum": [1, 22]}},
            "required": ["n"],
            "additionalProperties": False,
        }
        held = engine.generate(Request(prompt="a", schema=schema, sampling=Sampling(max_tokens=40)))
        assert held.parsed in ({"n": 1}, {"n": 22}), held
        cut = engine.generate(
            Request(prompt="a", choices=("ab ab",), sampling=Sampling(max_tokens=40, stop=(" ab",)))
        )
        assert (cut.text, cut.finish_reason) == ("ab", "stop_string")
        assert cut.stats["constraint"]["truncated"] is True


@pytest.mark.parametrize(
    "changes",
    [
        {"tokenizer.ggml.scores": [0.0]},
        {"tokenizer.ggml.token_type": [1]},
        {"tokenizer.ggml.tokens": None},
        {"tokenizer.ggml.model": "gpt2"},
        {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.merges": ["nospace"]},
        {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.merges": ["not there"]},
    ],
)
def test_a_broken_tokenizer_is_a_corrupt_file(file: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        from_gguf({**read_gguf(file).metadata, **changes})
    assert caught.value.code == "model_corrupt"


def test_another_tokenizer_is_named(file: Path) -> None:
    with pytest.raises(ModelError, match="GGUF tokenizer 't5'") as caught:
        from_gguf({**read_gguf(file).metadata, "tokenizer.ggml.model": "t5"})
    assert caught.value.code == "model_unsupported"
