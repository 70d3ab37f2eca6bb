"""Sentence and word vectors from all-MiniLM-L6-v2: a BERT encoder of six layers in plain torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Encoding, Tokenizer
from torch import Tensor
from torch.nn import functional as F

from engine.aside import aside
from engine.remembered import Memory, Vectors

__all__ = ["Embedder", "EmbeddingModelError", "TokenVectors", "Vectors"]

MODEL_NAME = "all-minilm-l6-v2"
WIDTH = 384
N_HEADS = 12
N_LAYERS = 6
MAX_TOKENS = 256  # what sentence-transformers trained it with
BATCH_TOKENS = 2048  # padded tokens a forward pass; more gains nothing on two cores
# A pass over fewer tokens than this costs about the same whatever their number.
FEW_TOKENS = 64
MAX_PADDING = 1.2
EPSILON = 1e-12
RARE = 30_000
FEW_TEXTS = 256  # at a time; more are somebody's documents, and wouldn't be asked for again
REMEMBERED = 4096  # vectors of short texts, 6 MB


class EmbeddingModelError(RuntimeError):
    """The embedding model can't be loaded; `code` is model_missing or model_corrupt."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """Contextual vectors of one text: unit rows [n_tokens, 384], character spans of each token."""

    spans: tuple[tuple[int, int], ...]
    vectors: Vectors


class Embedder:
    """Texts to unit vectors; threads may share it: nobody writes its tensors, and its memory has a lock."""

    def __init__(self, weights: Mapping[str, Tensor], tokenizer: Tokenizer) -> None:
        self._weights = dict(weights)
        self._layers = [_layer(weights, i) for i in range(N_LAYERS)]
        self._tokenizer = tokenizer
        self._ranks = tokenizer.get_vocab()
        self._memory = Memory(REMEMBERED)
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)

    @classmethod
    def load(cls, models_dir: Path | str) -> Embedder:
        """Load `models_dir/all-minilm-l6-v2`; raises EmbeddingModelError when a file is missing or broken."""
        folder = Path(models_dir) / MODEL_NAME
        for name in ("model.safetensors", "tokenizer.json"):
            if not (folder / name).is_file():
                raise EmbeddingModelError(
                    "model_missing", f"{folder / name} is missing; run `python -m engine model` to prepare it"
                )
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            return aside(lambda: cls(load_file(folder / "model.safetensors"), tokenizer))
        except Exception as error:  # safetensors and tokenizers raise their own bare Exceptions
            message = f"{folder} can't be read ({error}); remove it and run `python -m engine model`"
            raise EmbeddingModelError("model_corrupt", message) from error

    def knows(self, word: str) -> bool:
        """True when a lower-case word is in the model's word list as a whole, so that it is no slip."""
        return word in self._ranks

    def commonness(self, word: str) -> int:
        """Rank of a lower-case word in the model's word list, which runs from common to rare; rare without one."""
        return self._ranks.get(word, RARE)

    def halved(self) -> Embedder:
        """The same model in bf16: nearly twice as fast for many texts; vectors differ by a cosine of 0.0001.

        Where the processor has no bf16 it is this one.
        """
        if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
            return self
        return Embedder({name: weight.bfloat16() for name, weight in self._weights.items()}, self._tokenizer)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text, [n, 384] float32: the mean of its token vectors; equal texts are encoded once."""
        held = self._memory.held(texts) if len(texts) <= FEW_TEXTS else {}
        wanted = [text for text in dict.fromkeys(texts) if text not in held]
        if wanted:
            found = dict(zip(wanted, aside(lambda: self._sentences(wanted)), strict=True))
            if len(texts) <= FEW_TEXTS:
                self._memory.keep(found)
            held |= found
        return np.stack([held[text] for text in texts]) if texts else np.zeros((0, WIDTH), np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Contextual token vectors of each text, without the two marker tokens."""
        return aside(lambda: self._tokens(texts))

    def encode_both(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        """What `encode` and `encode_tokens` give, for one forward pass."""
        sentences, tokens = aside(lambda: self._both(texts))
        if len(texts) <= FEW_TEXTS:
            self._memory.keep(dict(zip(texts, sentences, strict=True)))
        return sentences, tokens

    def _sentences(self, texts: Sequence[str]) -> Vectors:
        out = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for rows, hidden, mask in self._passes(self._encodings(texts)):
            weight = mask.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weight).sum(1) / weight.sum(1)
            out[rows] = F.normalize(mean, dim=-1).numpy()
        return out

    def _tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        encodings = self._encodings(texts)
        out: list[TokenVectors] = [TokenVectors((), np.zeros((0, WIDTH), np.float32))] * len(texts)
        for rows, hidden, _ in self._passes(encodings):
            unit = F.normalize(hidden, dim=-1).numpy()
            for i, row in enumerate(rows):
                spans = encodings[row].offsets[1:-1]
                out[row] = TokenVectors(tuple(spans), unit[i, 1 : 1 + len(spans)].copy())
        return out

    def _both(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        encodings = self._encodings(texts)
        sentences = np.zeros((len(texts), WIDTH), dtype=np.float32)
        tokens: list[TokenVectors] = [TokenVectors((), np.zeros((0, WIDTH), np.float32))] * len(texts)
        for rows, hidden, mask in self._passes(encodings):
            weight = mask.unsqueeze(-1).to(hidden.dtype)
            sentences[rows] = F.normalize((hidden * weight).sum(1) / weight.sum(1), dim=-1).numpy()
            unit = F.normalize(hidden, dim=-1).numpy()
            for i, row in enumerate(rows):
                spans = encodings[row].offsets[1:-1]
                tokens[row] = TokenVectors(tuple(spans), unit[i, 1 : 1 + len(spans)].copy())
        return sentences, tokens

    def _encodings(self, texts: Sequence[str]) -> list[Encoding]:
        return list(self._tokenizer.encode_batch(list(texts)))

    def _passes(self, encodings: Sequence[Encoding]) -> Iterator[tuple[list[int], Tensor, Tensor]]:
        for rows in _batches([len(encoding.ids) for encoding in encodings]):
            ids, mask = _padded([encodings[row].ids for row in rows])
            with torch.inference_mode():
                yield rows, self._forward(ids, mask).float(), mask

    def _forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        w = self._weights
        x = F.embedding(ids, w["embeddings.word_embeddings.weight"])
        x = x + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        x = _norm(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"])
        for layer in self._layers:
            x = layer(x, mask)
        return x


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: tuple[Tensor, Tensor]
    out: tuple[Tensor, Tensor]
    norm_attention: tuple[Tensor, Tensor]
    up: tuple[Tensor, Tensor]
    down: tuple[Tensor, Tensor]
    norm_output: tuple[Tensor, Tensor]

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        x = _norm(x + self._attention(x, mask), *self.norm_attention)
        return _norm(x + F.linear(F.gelu(F.linear(x, *self.up)), *self.down), *self.norm_output)

    def _attention(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads = F.linear(x, *self.qkv).view(batch, length, 3, N_HEADS, WIDTH // N_HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        return F.linear(mixed.transpose(1, 2).reshape(batch, length, WIDTH), *self.out)


def _layer(weights: Mapping[str, Tensor], index: int) -> _Layer:
    def pair(name: str) -> tuple[Tensor, Tensor]:
        prefix = f"encoder.layer.{index}.{name}"
        return weights[f"{prefix}.weight"], weights[f"{prefix}.bias"]

    parts = [pair(f"attention.self.{name}") for name in ("query", "key", "value")]
    return _Layer(
        qkv=(torch.cat([weight for weight, _ in parts]), torch.cat([bias for _, bias in parts])),
        out=pair("attention.output.dense"),
        norm_attention=pair("attention.output.LayerNorm"),
        up=pair("intermediate.dense"),
        down=pair("output.dense"),
        norm_output=pair("output.LayerNorm"),
    )


def _norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, (WIDTH,), weight, bias, EPSILON)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows grouped by length, so that little of a forward pass is padding: at most a fifth, or of a few tokens."""
    batch: list[int] = []
    tokens = 0
    for row in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        padded = (len(batch) + 1) * lengths[row]
        wasteful = padded > FEW_TOKENS and padded > MAX_PADDING * (tokens + lengths[row])
        if batch and (padded > BATCH_TOKENS or wasteful):
            yield batch
            batch, tokens = [], 0
        batch.append(row)
        tokens += lengths[row]
    if batch:
        yield batch


def _padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    width = max(len(row) for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros(len(rows), width, dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = True
    return ids, mask
