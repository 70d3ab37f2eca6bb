"""Tokenizers loaded and kept: ids of a text, the bytes of an id, control tokens as the asker wants them."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from interview.calculators.formulas import token_files
from interview.calculators.formulas.encoders import (
    Encoder,
    JsonEncoder,
    RankEncoder,
    controls_of,
    ranks_of,
    tekken,
)
from interview.calculators.formulas.heap import give_back
from interview.calculators.formulas.vocabularies import VOCABULARIES, Vocabulary

# All stay in memory once used: together about 0.35 GB, and Gemma's alone as much again.
KEPT = 16


@dataclass(frozen=True, slots=True)
class Loaded:
    """A tokenizer ready to use: its encoder, its control tokens by name, and what splits a text at them."""

    vocabulary: Vocabulary
    encoder: Encoder
    controls: dict[str, int]
    names: dict[int, str]
    splitter: re.Pattern[str]
    bos: str
    template: str

    def spelling(self, token: int) -> bytes:
        """The bytes of a token; a control token's are its name."""
        name = self.names.get(token)
        return self.encoder.spelling(token) if name is None else name.encode()


def vocabularies() -> dict[str, Vocabulary]:
    """Those whose files are on this machine."""
    return {v.name: v for v in VOCABULARIES.values() if token_files.present(v.file)}


@lru_cache(maxsize=KEPT)
def encoding(name: str) -> Loaded:
    """A tokenizer by name. Raises FilesMissing, or ValueError for a damaged file."""
    loaded = _read(name)
    give_back()
    return loaded


def _read(name: str) -> Loaded:
    vocabulary = VOCABULARIES[name]
    if vocabulary.kind == "ranks":
        encoder = _ranks(vocabulary.file, vocabulary.pattern)
        return _loaded(vocabulary, encoder, vocabulary.controls, template=_template(vocabulary))
    raw = _raw(vocabulary)
    if vocabulary.kind == "local":
        return _local(vocabulary, json.loads(raw))
    if vocabulary.kind == "json":
        data = json.loads(raw)
        controls = controls_of(data)
        return _loaded(vocabulary, JsonEncoder(data, set(controls)), controls, template=_template(vocabulary))
    return _loaded(vocabulary, tekken(raw), vocabulary.controls)


@lru_cache(maxsize=KEPT)
def _ranks(file: str, pattern: str) -> RankEncoder:
    """One encoder a file: gpt-oss and o200k_base share theirs and differ in control tokens."""
    vocabulary = next(v for v in VOCABULARIES.values() if (v.file, v.pattern) == (file, pattern))
    return RankEncoder(file, pattern, ranks_of(_raw(vocabulary)))


def _raw(vocabulary: Vocabulary) -> bytes:
    packed = token_files.HERE / f"{vocabulary.file}.xz"
    if not packed.is_file():
        return token_files.read(vocabulary.file)
    raw = lzma.decompress(packed.read_bytes())
    if hashlib.sha256(raw).hexdigest() != vocabulary.sha256:
        raise ValueError(f"the ranks of {vocabulary.name} are damaged: restore {packed.name}")
    return raw


def _local(vocabulary: Vocabulary, data: dict[str, object]) -> Loaded:
    """The site's own model, as `prepare` wrote it down: tokenizer, control tokens, template."""
    controls = {str(k): int(str(v)) for k, v in dict(data["controls"]).items()}  # type: ignore[call-overload]
    tokenizer = json.loads(str(data["tokenizer"]))
    template, bos = str(data["chat_template"] or ""), str(data["bos"] or "")
    return _loaded(vocabulary, JsonEncoder(tokenizer, set(controls)), controls, template=template, bos=bos)


def _loaded(
    vocabulary: Vocabulary, encoder: Encoder, controls: dict[str, int], *, template: str = "", bos: str = ""
) -> Loaded:
    longest_first = sorted(controls, key=len, reverse=True)
    splitter = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")" if controls else r"(?!)()")
    names = {i: name for name, i in controls.items()}
    return Loaded(vocabulary, encoder, controls, names, splitter, bos or vocabulary.bos, template)


def _template(vocabulary: Vocabulary) -> str:
    """The chat template's own text; empty where it has none or its file isn't here."""
    name = vocabulary.template
    if not name.endswith((".jinja", ".json")):
        return name
    try:
        raw = token_files.read(name).decode()
    except token_files.FilesMissing:
        return ""
    return str(json.loads(raw)["chat_template"]) if name.endswith(".json") else raw


def normal(name: str, text: str) -> str:
    """The text as the tokenizer reads it: in NFC where it normalises."""
    return unicodedata.normalize("NFC", text) if VOCABULARIES[name].nfc else text


def ids_of(name: str, text: str, *, control: bool = False) -> list[int]:
    """Ids of a text; with `control`, control tokens in it become themselves, otherwise they are plain text."""
    loaded = encoding(name)
    text = normal(name, text)
    if not control:
        return loaded.encoder.plain(text)
    ids: list[int] = []
    for piece in loaded.splitter.split(text):
        if piece in loaded.controls:
            ids.append(loaded.controls[piece])
        elif piece:
            ids += loaded.encoder.plain(piece)
    return ids
