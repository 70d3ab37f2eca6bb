"""Prompts by a model's template: the end tokens it writes, what each message costs, and errors of its own making."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.chat import message_tokens, render, render_template
from engine.errors import InvalidRequest
from engine.hf import load_tokenizer
from engine.llm import Engine
from engine.tokenizer import ModelTokenizer
from engine.types import Message, Request
from tests.engine.tiny import byte_tokenizer

# As Mistral's and Llama 2's templates do it: an answer ends with the end token.
TURNS = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}[{{ m['content'] }}]"
    "{% else %}{{ m['content'] + eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}>>{% endif %}"
)
TALK = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))


def tokenizer_with(template: str) -> ModelTokenizer:
    tokenizer = byte_tokenizer()
    tokenizer.chat_template, tokenizer.eos_id = template, 256
    return tokenizer


def test_a_template_writes_the_declared_end_token() -> None:
    text, ids = render(tokenizer_with(TURNS), Request(messages=TALK))
    assert text == "<bos>[a]b<eos>[c]>>"
    assert ids == [257, *b"[a]b", 256, *b"[c]>>"]


def test_an_end_token_that_a_message_holds_stays_text() -> None:
    talk = (Message("user", "<eos>"), Message("assistant", "b"), Message("user", "c"))
    assert render(tokenizer_with(TURNS), Request(messages=talk))[1].count(256) == 1


def test_each_message_bears_its_own_tokens_and_the_answer_its_opening() -> None:
    assert message_tokens(tokenizer_with(TURNS), TALK) == ([4, 2, 3], 2)


def test_the_model_s_own_template_is_counted_message_by_message(engine: Engine) -> None:
    talk = (Message("system", "Be short."), Message("user", "hi"))
    counts, opening = message_tokens(engine.tokenizer, talk)
    # <|im_start|> system \n Be short . <|im_end|> \n, then <|im_start|> user \n hi <|im_end|> \n
    # The answer opens with <|im_start|> ass istant \n.
    assert (counts, opening) == ([8, 6], 4)
    assert sum(counts) + opening == len(render(engine.tokenizer, Request(messages=talk))[1])
    assert engine.tokenizer.label(engine.tokenizer.eos_id or 0) == "<|im_end|>"


def test_a_template_that_refuses_a_lone_system_message_leaves_its_tokens_to_the_next() -> None:
    picky = (
        "{% if messages[-1]['role'] == 'system' %}{{ raise_exception('no question') }}{% endif %}"
        "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    )
    talk = (Message("system", "abc"), Message("user", "de"))
    assert message_tokens(tokenizer_with(picky), talk) == ([0, 5], 0)


@pytest.mark.parametrize("template", ["{{ range(99999999) }}", "{{ 1 // 0 }}", "{{ x.y }}", "{% for"])
def test_whatever_a_template_raises_is_a_typed_error(template: str) -> None:
    with pytest.raises(InvalidRequest, match="the chat template failed") as caught:
        render_template(template, [])
    assert caught.value.code == "template_failed"


def test_a_folder_s_declared_end_token_is_kept_apart_from_all_that_end_an_output(tmp_path: Path) -> None:
    tokenizer = byte_tokenizer()
    assert tokenizer.backend is not None
    tokenizer.backend.add_special_tokens([*tokenizer.special, "<|im_end|>"])
    tokenizer.backend.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": [259, 256]}))
    assert load_tokenizer(tmp_path).eos_id == 259
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": "<eos>"}}))
    found = load_tokenizer(tmp_path)
    assert (found.eos_id, found.eos_ids) == (256, frozenset({256, 259}))
