"""Texts laid end to end get the vectors that each gets alone, from a plain BERT written down here; so do verdicts."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F

from engine import grading, minilm
from engine.aside import aside
from engine.compiled import CompiledRubric, compile_rubric
from engine.embeddings import MODEL_NAME, Embedder, Vectors
from engine.grading import Grader
from engine.rubric import Rubric
from interview.questions.loader import load_bank
from interview.questions.management.commands.load_questions import BANK
from tests.engine import rubrics

TEXTS = [
    "Bread needs flour and yeast.",
    "",
    "The old bridge was designed by an engineer of the town. It opened after six years of work.",
    "It is.",
    "Yes, no.",
    "word " * 260,  # longer than what is read of a text
    "The river is 40 km long and freezes in winter, which keeps the ferry in its harbour until the thaw.",
    "\u706f\u53f0",
]


class PlainEmbedder(Embedder):
    """The encoder without packing: one text at a time through torch's plain linear layers."""

    plain: dict[str, Tensor]

    def _sentences(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._alone(text) for text in texts])

    def _alone(self, text: str) -> Vectors:
        w = self.plain
        ids = torch.tensor(self._tokenizer.encode(text).ids)
        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: len(ids)]
        )
        x = self._norm("embeddings.LayerNorm", x + w["embeddings.token_type_embeddings.weight"][0])
        for i in range(minilm.N_LAYERS):
            at = f"encoder.layer.{i}."
            q, k, v = (
                self._linear(f"{at}attention.self.{name}", x)
                .view(len(ids), minilm.N_HEADS, -1)
                .transpose(0, 1)
                for name in ("query", "key", "value")
            )
            weights = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1)
            mixed = (weights @ v).transpose(0, 1).reshape(len(ids), -1)
            x = self._norm(
                f"{at}attention.output.LayerNorm", x + self._linear(f"{at}attention.output.dense", mixed)
            )
            inner = F.gelu(self._linear(f"{at}intermediate.dense", x))
            x = self._norm(f"{at}output.LayerNorm", x + self._linear(f"{at}output.dense", inner))
        return np.asarray(F.normalize(x.mean(0), dim=-1).numpy(), dtype=np.float32)

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return F.linear(x, self.plain[f"{name}.weight"], self.plain[f"{name}.bias"])

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = self.plain[f"{name}.weight"], self.plain[f"{name}.bias"]
        return F.layer_norm(x, (minilm.WIDTH,), weight, bias, minilm.EPSILON)


@pytest.fixture(scope="module")
def plain(models_dir: Path) -> PlainEmbedder:
    made = PlainEmbedder.load(models_dir)
    assert isinstance(made, PlainEmbedder)
    made.plain = load_file(models_dir / MODEL_NAME / "model.safetensors")
    return made


def test_texts_end_to_end_have_the_vectors_that_each_has_alone(
    embedder: Embedder, plain: PlainEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = plain._sentences(TEXTS)
    assert np.abs(embedder._sentences(TEXTS) - alone).max() < 2e-6
    assert np.abs(embedder._sentences(TEXTS[::-1])[::-1] - alone).max() < 2e-6
    monkeypatch.setattr(minilm, "PASS_TOKENS", 16)  # more passes than one, and a text that fills one alone
    assert np.abs(embedder._sentences(TEXTS) - alone).max() < 2e-6
    assert embedder._sentences([]).shape == (0, minilm.WIDTH)


def test_the_vectors_of_words_are_those_of_their_own_text(embedder: Embedder) -> None:
    together = embedder.encode_tokens(TEXTS)
    for text, found in zip(TEXTS, together, strict=True):
        alone = embedder.encode_tokens([text])[0]
        assert found.spans == alone.spans
        assert found.vectors.shape == (len(found.spans), minilm.WIDTH)
        assert np.allclose(found.vectors, alone.vectors, atol=2e-6)


def test_a_processor_without_packed_products_gives_the_same(
    embedder: Embedder, models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    other = Embedder.load(models_dir)
    assert np.abs(other._sentences(TEXTS) - embedder._sentences(TEXTS)).max() < 2e-6


def test_verdicts_are_those_of_the_plain_encoder_however_many_are_graded_at_once(
    models_dir: Path, plain: PlainEmbedder
) -> None:
    chosen = load_bank(BANK).questions[::60]
    tasks = [
        {"question": question.prompt, "answer": sample.text, "rubric": question.rubric}
        for question in chosen
        for sample in question.samples
    ]
    slow = Grader(plain)
    expected = [slow.grade(**task) for task in tasks]
    quick = Grader(Embedder.load(models_dir))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda task: quick.grade(**task), tasks)) == expected
    assert len({verdict.verdict for verdict in expected}) > 2, "samples of several sorts"


def test_a_rubric_is_made_ready_once_for_all_who_want_it(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_made = 0
    all_wait = threading.Barrier(3)

    def counted(rubric: Rubric, with_: Embedder) -> CompiledRubric:
        nonlocal n_made
        n_made += 1
        if n_made == 1:
            raise MemoryError("the first time")
        return compile_rubric(rubric, with_)

    def asked(_: int) -> CompiledRubric:
        all_wait.wait(timeout=30)
        return grader._compiled(rubric)

    monkeypatch.setattr(grading, "compile_rubric", counted)
    grader, rubric = Grader(embedder), Rubric.from_dict(rubrics.SAMPLING)
    with pytest.raises(MemoryError):
        grader._compiled(rubric)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(asked, range(3)))
    assert n_made == 2, "a failure isn't kept, a success is"
    assert found[0] is found[1] is found[2]


def test_work_on_one_core_changes_no_other_thread() -> None:
    usual = torch.get_num_threads()
    assert aside(torch.get_num_threads, on_one_core=True) == 1
    assert aside(torch.get_num_threads) == torch.get_num_threads() == usual
