"""A tiny random model with transformers' own implementation of it as the oracle."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models
from transformers import AutoConfig, AutoModelForCausalLM

from engine.decoder import Decoder
from engine.encoders import byte_letters
from engine.hf import from_state
from engine.limits import Limits
from engine.llm import Engine
from engine.registry import ModelCard
from engine.tokenizer import ModelTokenizer

VOCAB = 259
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
    "bos_token_id": 257,
    "eos_token_id": 256,
    "pad_token_id": 258,
}


def oracle(family: str = "llama", seed: int = 0, **changes: Any) -> Any:
    """transformers' model in fp32, weights drawn with the seed, wide enough to make choices sharp."""
    torch.manual_seed(seed)
    config = AutoConfig.for_model(family, **{**SIZES, **changes})
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(1.0 if "norm" in name else 0.0, 0.15)
    return model


def decoder_of(model: Any) -> Decoder:
    """Our decoder with the oracle's weights."""
    return from_state(model.config.to_dict(), model.state_dict(), "fp32", "cpu")


def byte_tokenizer() -> ModelTokenizer:
    """One token a byte, <eos> = 256, <bos> = 257, <pad> = 258."""
    letters = byte_letters()
    backend = Tokenizer(models.BPE(vocab=letters, merges=[]))
    backend.decoder = decoders.ByteLevel()
    special = {"<eos>": 256, "<bos>": 257, "<pad>": 258}
    spelled = [bytes([b]) for b in range(256)] + [t.encode() for t in special]
    return ModelTokenizer(
        token_bytes=spelled,
        special=special,
        eos_ids=frozenset({256}),
        bos_id=257,
        add_bos=False,
        encode_text=lambda text: list(text.encode()),
        backend=backend,
        chat_template="{% for m in messages %}{{ m.content }}\n{% endfor %}",
    )


def tiny_engine(model: Any, **limits: Any) -> Engine:
    """A whole engine around the tiny decoder."""
    decoder = decoder_of(model)
    s = decoder.shape
    card = ModelCard(
        "tiny", "seeded", "", "", "fp32", "", s.context_length, s.n_layers, s.n_heads, s.n_kv_heads,
        s.head_dim, s.hidden_size, s.vocab_size, decoder.kv_bytes_per_token,
    )  # fmt: skip
    return Engine(decoder, byte_tokenizer(), card, Limits(**limits))
