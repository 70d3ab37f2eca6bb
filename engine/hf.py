"""Hugging Face folders (config.json, safetensors, tokenizer.json) as a decoder and a tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer
from torch import Tensor

from engine.decoder import Decoder, Shape
from engine.encoders import byte_letters
from engine.errors import ModelError
from engine.registry import Format
from engine.rope import RopeKind, RopeScaling
from engine.tokenizer import END_OF_TEXT, ModelTokenizer
from engine.weights import Get, build_decoder

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")
NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TOP = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}


def hf_name(name: str) -> str:
    """The Hugging Face name of a GGUF-style one: blk.3.attn_q.weight ->
    model.layers.3.self_attn.q_proj.weight.
    """
    parts = name.split(".")
    if parts[0] != "blk":
        return f"{TOP[parts[0]]}.{parts[1]}"
    return f"model.layers.{parts[1]}.{NAMES[parts[2]]}.{parts[3]}"


def shape_of(config: Mapping[str, Any]) -> Shape:
    """The decoder's sizes from config.json; raises `ModelError` for a family this decoder doesn't hold."""
    family = config.get("model_type")
    if family not in FAMILIES:
        raise ModelError("model_unsupported", f"model_type {family!r}; own decoder: {', '.join(FAMILIES)}")
    heads = config["num_attention_heads"]
    context = config["max_position_embeddings"]
    window = config.get("sliding_window") if config.get("use_sliding_window", True) else None
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return Shape(
        n_layers=config["num_hidden_layers"],
        n_heads=heads,
        n_kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=config.get("head_dim") or config["hidden_size"] // heads,
        hidden_size=config["hidden_size"],
        intermediate_size=config["intermediate_size"],
        vocab_size=config["vocab_size"],
        # Within its window a sliding-window model is an ordinary one; beyond it this decoder would differ.
        context_length=min(context, window) if window else context,
        rms_eps=config.get("rms_norm_eps", 1e-6),
        rope_theta=rope.get("rope_theta") or config.get("rope_theta", 10_000.0),
        rope_scaling=_scaling(rope, context),
    )


def _scaling(rope: Mapping[str, Any], context: int) -> RopeScaling:
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return RopeScaling()
    if kind not in ("linear", "dynamic", "llama3", "yarn"):
        raise ModelError("model_unsupported", f"rope scaling {kind!r}; known: linear, dynamic, llama3, yarn")
    fields = {f: rope[f] for f in ("low_freq_factor", "high_freq_factor", "attention_factor") if rope.get(f)}
    return RopeScaling(
        kind=cast(RopeKind, kind),
        factor=rope["factor"],
        original_context=rope.get("original_max_position_embeddings") or context,
        beta_fast=rope.get("beta_fast") or 32.0,
        beta_slow=rope.get("beta_slow") or 1.0,
        **fields,
    )


def from_state(
    config: Mapping[str, Any], state: Mapping[str, Tensor], weight_format: Format, device: str
) -> Decoder:
    """A decoder from a config and a state dict (names as transformers saves them)."""
    tied = bool(config.get("tie_word_embeddings"))

    def get(name: str) -> Tensor:
        if name == "output.weight" and tied:
            raise KeyError(name)
        return state[hf_name(name)].float()

    return build_decoder(shape_of(config), get, weight_format, torch.device(device))


def load_folder(folder: Path, weight_format: Format, device: str) -> Decoder:
    """The decoder of a folder with config.json and *.safetensors. Raises `ModelError`."""
    config = read_config(folder)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelError("model_missing", f"{folder} holds no *.safetensors")
    try:
        where: dict[str, Any] = {}
        for file in files:
            stored = safe_open(file, framework="pt")
            where |= dict.fromkeys(list(stored.keys()), stored)  # type: ignore[no-untyped-call]  # Rust class
        tied = bool(config.get("tie_word_embeddings"))
        return build_decoder(shape_of(config), _reader(where, tied), weight_format, torch.device(device))
    except KeyError as error:
        raise ModelError("model_corrupt", f"{folder} lacks the tensor {error}") from error
    except (OSError, RuntimeError, SafetensorError) as error:
        raise ModelError("model_corrupt", f"{folder} can't be read: {error}") from error


def _reader(where: Mapping[str, Any], tied: bool) -> Get:
    def get(name: str) -> Tensor:
        key = hf_name(name)
        if name == "output.weight" and (tied or key not in where):
            raise KeyError(name)
        found: Tensor = where[key].get_tensor(key)
        return found.float()

    return get


def read_config(folder: Path) -> dict[str, Any]:
    """config.json as data; raises `ModelError` when it is absent or broken."""
    try:
        found = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise ModelError("model_missing", f"{folder}/config.json can't be read: {error}") from error
    if not isinstance(found, dict):
        raise ModelError("model_corrupt", f"{folder}/config.json is not an object")
    return found


def load_tokenizer(folder: Path) -> ModelTokenizer:
    """The tokenizer of a folder with tokenizer.json. Raises `ModelError`."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError("model_missing", f"{path} is missing; the engine reads tokenizer.json only")
    backend = Tokenizer.from_file(str(path))
    backend.encode_special_tokens = True
    settings = _json(folder / "tokenizer_config.json")
    special = {t.content: i for i, t in backend.get_added_tokens_decoder().items() if t.special}
    eos = _json(folder / "generation_config.json").get(
        "eos_token_id", read_config(folder).get("eos_token_id")
    )
    named: list[Any] = eos if isinstance(eos, list) and eos else [eos]
    bos, declared = _token_name(settings.get("bos_token")), _token_name(settings.get("eos_token"))
    template = _template(folder, settings)
    return ModelTokenizer(
        token_bytes=spellings(backend, special),
        special=special,
        eos_ids=frozenset(
            [i for i in named if i is not None] + [special[t] for t in END_OF_TEXT if t in special]
        ),
        bos_id=special.get(bos) if bos else None,
        add_bos=bool(settings.get("add_bos_token", False)),
        encode_text=lambda text: backend.encode(text, add_special_tokens=False).ids,
        backend=backend,
        chat_template=template,
        eos_id=special[declared] if declared in special else named[0],
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _token_name(token: Any) -> str | None:
    name = token.get("content") if isinstance(token, dict) else token
    return name if isinstance(name, str) else None


def _template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text()
    found = settings.get("chat_template")
    return found if isinstance(found, str) else None


def spellings(backend: Tokenizer, special: Mapping[str, int]) -> list[bytes]:
    """Each id's bytes: byte-level letters, or SentencePiece's ▁ for a space and <0xNN> for a byte."""
    vocab = backend.get_vocab(with_added_tokens=True)
    byte_level = "ByteLevel" in backend.to_str()[-20000:] or "Ġ" in "".join(list(vocab)[:2000])
    letters = byte_letters()
    added = {t.content for t in backend.get_added_tokens_decoder().values()}
    found = [b""] * (max(vocab.values()) + 1)
    for token, i in vocab.items():
        if token in special or token in added:
            found[i] = token.encode()
        elif byte_level and all(c in letters for c in token):
            found[i] = bytes(letters[c] for c in token)
        elif not byte_level and len(token) == 6 and token.startswith("<0x"):
            found[i] = bytes([int(token[3:5], 16)])
        else:
            found[i] = token.replace("\u2581", " ").encode()
    return found
