"""Tokenizers loaded and kept: ids of a text, the bytes of an id, control tokens as the asker wants them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from weakref import WeakValueDictionary

from engine import ranked
from engine.encoders import Encoder, JsonEncoder, RankEncoder, controls_of, ranks_of, tekken
from engine.encoding import Encoding
from interview.calculators.formulas import token_files
from interview.calculators.formulas.shelf import Shelf
from interview.calculators.formulas.vocabularies import VOCABULARIES, Vocabulary

# All together take about 0.35 GB, and Gemma's alone as much again: kept while somebody counts, not for good.
SECONDS = 90.0


class Loaded(Encoding):
    """A tokenizer ready to use, with what is known of it, its start token and its chat template."""

    def __init__(
        self, vocabulary: Vocabulary, encoder: Encoder, controls: dict[str, int], bos: str, template: str
    ) -> None:
        super().__init__(encoder, controls, nfc=vocabulary.nfc)
        self.vocabulary, self.bos, self.template = vocabulary, bos, template


def vocabularies() -> dict[str, Vocabulary]:
    """Those whose files are on this machine."""
    return {v.name: v for v in VOCABULARIES.values() if token_files.present(v.file)}


def absent(names: Iterable[str]) -> frozenset[str]:
    """Which of these tokenizers have no files on this machine."""
    known = [VOCABULARIES[name] for name in names if name in VOCABULARIES]
    return frozenset(v.name for v in known if not token_files.present(v.file))


def how_to_add(names: Iterable[str]) -> str:
    """Who can add these tokenizers, with which command, and under which licence; empty where none is missing."""
    said = []
    for name in sorted(names):
        vocabulary = VOCABULARIES[name]
        source = token_files.source_of(vocabulary.file)
        terms = f" ({source.licence})" if source else ""
        said.append(f"{vocabulary.title}{terms} with {token_files.command(vocabulary.file)}")
    return f"Not installed; the site’s operator adds {', '.join(said)}." if said else ""


def encoding(name: str) -> Loaded:
    """A tokenizer by name. Raises FilesMissing, or ValueError for a damaged file."""
    return SHELF.get(name)


def _read(name: str) -> Loaded:
    vocabulary = VOCABULARIES[name]
    if vocabulary.kind == "ranks":
        encoder = _ranks(vocabulary)
        return _loaded(vocabulary, encoder, vocabulary.controls, template=_template(vocabulary))
    raw = _raw(vocabulary)
    if vocabulary.kind == "local":
        return _local(vocabulary, json.loads(raw))
    if vocabulary.kind == "json":
        data = json.loads(raw)
        controls = controls_of(data)
        return _loaded(vocabulary, JsonEncoder(data, set(controls)), controls, template=_template(vocabulary))
    return _loaded(vocabulary, tekken(raw), vocabulary.controls)


def _ranks(vocabulary: Vocabulary) -> RankEncoder:
    """One encoder a file: gpt-oss and o200k_base share theirs and differ in control tokens."""
    key = (vocabulary.file, vocabulary.pattern)
    if (known := _SHARED.get(key)) is not None:
        return known
    made = RankEncoder(vocabulary.file, vocabulary.pattern, ranks_of(_raw(vocabulary)))
    _SHARED[key] = made
    return made


def _raw(vocabulary: Vocabulary) -> bytes:
    if ranked.shipped(vocabulary.file):
        return ranked.read(vocabulary.file, vocabulary.sha256)
    return token_files.read(vocabulary.file)


def _local(vocabulary: Vocabulary, data: dict[str, object]) -> Loaded:
    """The site's own model, as `prepare` wrote it down: tokenizer, control tokens, template."""
    controls = {str(k): int(str(v)) for k, v in dict(data["controls"]).items()}  # type: ignore[call-overload]
    tokenizer = json.loads(str(data["tokenizer"]))
    template, bos = str(data["chat_template"] or ""), str(data["bos"] or "")
    return _loaded(vocabulary, JsonEncoder(tokenizer, set(controls)), controls, template=template, bos=bos)


def _loaded(
    vocabulary: Vocabulary, encoder: Encoder, controls: dict[str, int], *, template: str = "", bos: str = ""
) -> Loaded:
    return Loaded(vocabulary, encoder, controls, bos or vocabulary.bos, template)


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


def ids_of(name: str, text: str, *, control: bool = False) -> list[int]:
    """Ids of a text; with `control`, control tokens in it become themselves, otherwise they are plain text."""
    return encoding(name).encode(text, "control" if control else "text")


SHELF = Shelf(_read, SECONDS)
_SHARED: WeakValueDictionary[tuple[str, str], RankEncoder] = WeakValueDictionary()
