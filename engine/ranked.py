"""OpenAI's vocabularies r50k, cl100k and o200k: their ranks lie beside this file, checked by hash, read without a network."""

from __future__ import annotations

import hashlib
import lzma
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tiktoken_ext import openai_public

from engine.encoders import RankEncoder, ranks_of
from engine.encoding import Encoding
from engine.errors import InvalidRequest

FOLDER = Path(__file__).with_name("ranks")
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
O200K = "|".join(
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


@dataclass(frozen=True, slots=True)
class Ranked:
    """One vocabulary: its file, the hash of the unpacked file, the pattern that cuts a text, control tokens by name."""

    name: str
    file: str
    sha256: str
    pattern: str
    controls: dict[str, int] = field(default_factory=dict)


RANKED = {
    v.name: v
    for v in (
        Ranked(
            "r50k_base",
            "r50k_base.tiktoken",
            "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
            openai_public.r50k_pat_str,
            {"<|endoftext|>": 50256},
        ),
        Ranked(
            "cl100k_base",
            "cl100k_base.tiktoken",
            "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            CL100K,
            {
                "<|endoftext|>": 100257,
                "<|fim_prefix|>": 100258,
                "<|fim_middle|>": 100259,
                "<|fim_suffix|>": 100260,
                "<|im_start|>": 100264,
                "<|im_end|>": 100265,
                "<|endofprompt|>": 100276,
            },
        ),
        Ranked(
            "o200k_base",
            "o200k_base.tiktoken",
            "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            O200K,
            {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
        ),
    )
}


def shipped(file: str) -> bool:
    """Do this file's ranks come with the code?"""
    return (FOLDER / f"{file}.xz").is_file()


def read(file: str, sha256: str) -> bytes:
    """Ranks that come with the code, unpacked. Raises ValueError for a damaged file."""
    packed = FOLDER / f"{file}.xz"
    raw = lzma.decompress(packed.read_bytes())
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise ValueError(f"the ranks in {packed.name} are damaged: restore it")
    return raw


@lru_cache(maxsize=len(RANKED))
def encoding(name: str) -> Encoding:
    """A vocabulary by name. Raises `InvalidRequest` for an unknown one, ValueError for a damaged file."""
    if name not in RANKED:
        raise InvalidRequest(
            "unknown_encoding", f"no encoding is called {name!r}; known: {', '.join(RANKED)}", "encoding"
        )
    known = RANKED[name]
    encoder = RankEncoder(known.file, known.pattern, ranks_of(read(known.file, known.sha256)))
    return Encoding(encoder, known.controls)
