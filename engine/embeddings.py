"""Sentence and word vectors from all-MiniLM-L6-v2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Encoding, Tokenizer
from torch import Tensor
from torch.nn import functional as F

from engine.aside import aside
from engine.minilm import WIDTH, MiniLM
from engine.remembered import Memory, Vectors

__all__ = ["Embedder", "EmbeddingModelError", "TokenVectors", "Vectors"]

MODEL_NAME = "all-minilm-l6-v2"
MAX_TOKENS = 256  # what sentence-transformers trained it with
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
        self._model = MiniLM(weights)
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
            few = len(texts) <= FEW_TEXTS
            vectors = aside(lambda: self._sentences(wanted), on_one_core=few)
            found = dict(zip(wanted, vectors, strict=True))
            if few:
                self._memory.keep(found)
            held |= found
        return np.stack([held[text] for text in texts]) if texts else np.zeros((0, WIDTH), np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """Contextual token vectors of each text, without the two marker tokens."""
        return aside(lambda: self._both(texts), on_one_core=len(texts) <= FEW_TEXTS)[1]

    def encode_both(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        """What `encode` and `encode_tokens` give, for one forward pass."""
        few = len(texts) <= FEW_TEXTS
        sentences, tokens = aside(lambda: self._both(texts), on_one_core=few)
        if few:
            self._memory.keep(dict(zip(texts, sentences, strict=True)))
        return sentences, tokens

    def _sentences(self, texts: Sequence[str]) -> Vectors:
        out = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for rows, starts, hidden in self._model.passes([encoding.ids for encoding in self._encodings(texts)]):
            out[rows] = _means(hidden, starts)
        return out

    def _both(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenVectors]]:
        encodings = self._encodings(texts)
        sentences = np.zeros((len(texts), WIDTH), dtype=np.float32)
        tokens: list[TokenVectors] = [TokenVectors((), np.zeros((0, WIDTH), np.float32))] * len(texts)
        for rows, starts, hidden in self._model.passes([encoding.ids for encoding in encodings]):
            sentences[rows] = _means(hidden, starts)
            unit = F.normalize(hidden, dim=-1).numpy()
            for row, start in zip(rows, starts[:-1], strict=True):
                spans = encodings[row].offsets[1:-1]
                tokens[row] = TokenVectors(tuple(spans), unit[start + 1 : start + 1 + len(spans)].copy())
        return sentences, tokens

    def _encodings(self, texts: Sequence[str]) -> list[Encoding]:
        return list(self._tokenizer.encode_batch(list(texts)))


def _means(hidden: Tensor, starts: Sequence[int]) -> Vectors:
    """The unit mean of each text's states."""
    sums = np.add.reduceat(hidden.numpy(), starts[:-1], axis=0)
    means = sums / np.diff(starts)[:, None]
    return np.asarray(F.normalize(torch.from_numpy(means), dim=-1).numpy(), dtype=np.float32)
