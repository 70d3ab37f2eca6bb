"""The model's own tokenizer, built from GGUF metadata or a tokenizer.json; no transformers import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from engine.encoders import byte_letters
from engine.encoding import Encoding
from engine.errors import ModelError
from engine.sentence_pieces import CONTROL, UNKNOWN, USER_DEFINED, SentencePieces

# Names under which models spell "the text ends here"; every one of them that a vocabulary holds ends an
# output.
END_OF_TEXT = (
    "<|endoftext|>",
    "<|im_end|>",
    "</s>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<|end|>",
    "<EOT>",
    "<|eot|>",
)
UNUSED_CHARACTER = "\x02"  # joins no other in any vocabulary
GPT2_SPLIT = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2_SPLIT = LLAMA3_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")


@dataclass(frozen=True, slots=True)
class _Own:
    """A model's own tokenizer as an `Encoder`."""

    encode_text: Callable[[str], list[int]]
    token_bytes: list[bytes]

    def plain(self, text: str) -> list[int]:
        return self.encode_text(text)

    def spelling(self, token: int) -> bytes:
        return self.token_bytes[token]


@dataclass
class ModelTokenizer:
    """Ids, bytes and special tokens of one model.

    `encode_text` never yields a special token; `special` maps each special token's text to its id.
    """

    token_bytes: list[bytes]
    special: dict[str, int]
    eos_ids: frozenset[int]
    bos_id: int | None
    add_bos: bool
    encode_text: Callable[[str], list[int]]
    backend: Tokenizer | None  # None where the file's pieces are joined by `sentence_pieces.py`
    chat_template: str | None = None
    eos_id: int | None = (
        None  # the one that the model declares, which templates write; `eos_ids` all end an output
    )
    nfc: bool = False  # reads text in that normal form
    special_ids: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        self.special_ids = frozenset(self.special.values())

    @property
    def vocab_size(self) -> int:
        """Ids that have a spelling."""
        return len(self.token_bytes)

    @cached_property
    def encoding(self) -> Encoding:
        """The face that every tokenizer has: policies for control tokens, bytes, places in a text."""
        return Encoding(_Own(self.encode_text, self.token_bytes), self.special, nfc=self.nfc)

    def encode(self, text: str, *, allow_special: bool = False) -> list[int]:
        """Token ids; special tokens written in the text act as such only with `allow_special`."""
        return self.encoding.encode(text, "control" if allow_special else "text")

    def encode_exactly(self, text: str) -> list[int]:
        """Ids that spell the text alone: SentencePiece begins one with a space that isn't in it."""
        ids = self.encode(text)
        if b"".join(map(self.spelling, ids)) == text.encode():
            return ids
        return self.encode(f"{UNUSED_CHARACTER}{text}")[len(self.encode(UNUSED_CHARACTER)) :]

    def with_bos(self, ids: list[int]) -> list[int]:
        """Adds the begin-of-text id where the model wants one and it isn't there yet."""
        if self.add_bos and self.bos_id is not None and ids[:1] != [self.bos_id]:
            return [self.bos_id, *ids]
        return ids

    def spelling(self, token_id: int) -> bytes:
        """The bytes a token adds to the visible text; a special token adds none."""
        if token_id in self.special_ids or not 0 <= token_id < len(self.token_bytes):
            return b""
        return self.token_bytes[token_id]

    def decode(self, ids: list[int]) -> str:
        """The visible text of ids; incomplete characters become U+FFFD."""
        return b"".join(map(self.spelling, ids)).decode("utf-8", "replace")

    def label(self, token_id: int) -> str:
        """A token as people read it, special tokens by name."""
        if 0 <= token_id < len(self.token_bytes):
            return self.token_bytes[token_id].decode("utf-8", "replace")
        return f"<{token_id}>"


def _splitter(pre: str) -> pre_tokenizers.PreTokenizer:
    """The pre-tokeniser llama.cpp names `pre`; raises `ModelError` for one this file doesn't know."""
    if pre in ("smollm", "starcoder", "refact", "command-r"):
        return pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    patterns = {
        "gpt-2": GPT2_SPLIT,
        "default": GPT2_SPLIT,
        "llama-bpe": LLAMA3_SPLIT,
        "llama3": LLAMA3_SPLIT,
        "qwen2": QWEN2_SPLIT,
    }
    if pre not in patterns:
        raise ModelError("model_unsupported", f"pre-tokenizer {pre!r}; known: smollm, {', '.join(patterns)}")
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(patterns[pre]), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def from_gguf(meta: Mapping[str, Any]) -> ModelTokenizer:
    """The tokenizer that a GGUF file carries: byte-level BPE, or SentencePiece's pieces with scores. Raises `ModelError`."""
    kind = meta.get("tokenizer.ggml.model")
    if kind not in ("gpt2", "llama"):
        raise ModelError(
            "model_unsupported",
            f"GGUF tokenizer {kind!r}; byte-level BPE ('gpt2') and SentencePiece's BPE ('llama') are read",
        )
    try:
        return _byte_level(meta) if kind == "gpt2" else _sentence_pieces(meta)
    except ModelError:
        raise
    except Exception as error:  # the library raises untyped ones for merges that don't fit the vocabulary
        raise ModelError("model_corrupt", f"the file's tokenizer can't be read ({error!r})") from error


def _byte_level(meta: Mapping[str, Any]) -> ModelTokenizer:
    tokens: list[str] = meta["tokenizer.ggml.tokens"]
    kinds: list[int] = meta["tokenizer.ggml.token_type"]
    merges = [(left, right) for left, right in (m.split(" ", 1) for m in meta["tokenizer.ggml.merges"])]
    vocab = {token: i for i, token in enumerate(tokens)}
    special = {token: i for i, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind == CONTROL}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges, fuse_unk=False, ignore_merges=False))
    pre = meta.get("tokenizer.ggml.pre", "default")
    backend.pre_tokenizer = _splitter(pre)
    backend.decoder = decoders.ByteLevel()
    if pre == "qwen2":
        backend.normalizer = normalizers.NFC()
    # Whole words that no merge makes, `<tool_call>` for one.
    words = [token for token, kind in zip(tokens, kinds, strict=True) if kind == USER_DEFINED]
    backend.add_tokens([AddedToken(word, normalized=False) for word in words])
    letters = byte_letters()
    as_written = special.keys() | set(words)
    return ModelTokenizer(
        token_bytes=[t.encode() if t in as_written else _unspell(t, letters) for t in tokens],
        special=special,
        add_bos=bool(meta.get("tokenizer.ggml.add_bos_token", False)),
        encode_text=lambda text: backend.encode(text, add_special_tokens=False).ids,
        backend=backend,
        nfc=pre == "qwen2",
        **_named(meta, special),
    )


def _sentence_pieces(meta: Mapping[str, Any]) -> ModelTokenizer:
    tokens: list[str] = meta["tokenizer.ggml.tokens"]
    kinds: list[int] = meta["tokenizer.ggml.token_type"]
    pieces = SentencePieces(
        tokens,
        meta["tokenizer.ggml.scores"],
        kinds,
        space_first=bool(meta.get("tokenizer.ggml.add_space_prefix", True)),
    )
    hidden = (CONTROL, UNKNOWN)
    special = {token: i for i, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind in hidden}
    return ModelTokenizer(
        token_bytes=pieces.spelled,
        special=special,
        add_bos=bool(meta.get("tokenizer.ggml.add_bos_token", True)),
        encode_text=pieces.encode,
        backend=None,
        **_named(meta, special),
    )


def _named(meta: Mapping[str, Any], special: Mapping[str, int]) -> dict[str, Any]:
    """Where an output begins and ends by the file's own word, and its template."""
    ends = {meta.get(f"tokenizer.ggml.{n}_token_id") for n in ("eos", "eot", "eom")} - {None}
    return {
        "eos_ids": frozenset(ends | {special[t] for t in END_OF_TEXT if t in special}),
        "bos_id": meta.get("tokenizer.ggml.bos_token_id"),
        "eos_id": meta.get("tokenizer.ggml.eos_token_id"),
        "chat_template": meta.get("tokenizer.chat_template"),
    }


def _unspell(token: str, letters: dict[str, int]) -> bytes:
    if all(c in letters for c in token):
        return bytes(letters[c] for c in token)
    return token.encode()
