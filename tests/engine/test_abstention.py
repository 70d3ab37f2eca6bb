"""Question sets, scores and the evaluation itself."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from engine import InvalidRequest
from engine.abstention import Outcome, answer_marks, risk_coverage
from engine.answer_scores import auc, balanced_accuracy, best_threshold, exact, f1, interval, squad_normal
from engine.answers import AskResult
from engine.embeddings import Embedder
from engine.evaluate_abstention import chosen, evaluate_reader, readable
from engine.evaluate_abstention import evaluate as evaluate_set
from engine.llm import Engine
from engine.question_sets import Labelled, read_questions
from engine.ranking import Ranking
from engine.thresholds import Thresholds, load_thresholds
from engine.types import Passage

TEXT = "The old bridge was designed by Ann Lee. It opened in 1932 after six years of work."


def test_scores_are_squad_s_own() -> None:
    assert squad_normal("The  Old-Bridge, a bridge!") == "oldbridge bridge"
    assert exact("the Bridge.", ["bridge"]) == 1.0
    assert f1("in 1932", ["1932", "1933"]) == pytest.approx(2 / 3)
    assert f1("1932", []) == 0.0


def test_auc_and_balanced_accuracy() -> None:
    assert auc([0.9, 0.8, 0.2, 0.1], [True, True, False, False]) == 1.0
    assert auc([0.5, 0.5], [True, False]) == 0.5
    assert math.isnan(auc([0.5], [True]))
    assert balanced_accuracy([False] * 4, [True, False, False, False]) == 0.5
    edge = best_threshold([0.9, 0.8, 0.2, 0.1], [True, True, False, False])
    assert 0.2 < edge < 0.8
    low, high = interval(200, lambda rows: float((rows < 100).mean()))
    assert 0.4 < low < 0.5 < high < 0.6


@pytest.mark.parametrize(
    ("data", "answerable"),
    [
        ([{"question": "q", "context": TEXT, "answers": ["1932"]}], True),
        ([{"question": "q", "context": TEXT, "answers": []}], False),
        ([{"question": "q", "passages": [{"id": "a", "text": TEXT}], "answers": [{"text": "1932"}]}], True),
        ([{"question": "q", "passages": [TEXT, "more"], "answer": "1932"}], True),
        ([{"question": "q", "context": TEXT, "answers": ["1932"], "is_impossible": True}], False),
        ({"questions": [{"question": "q", "context": TEXT, "answers": [], "answerable": False}]}, False),
        (
            {"data": [{"title": "t", "paragraphs": [
                {"context": TEXT, "qas": [{"id": "1", "question": "q", "answers": [{"text": "1932"}]}]}]}]},
            True,
        ),
    ],
)  # fmt: skip
def test_question_sets_of_every_shape_are_read(tmp_path: Path, data: Any, answerable: bool) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(data))
    (row,) = read_questions(path)
    assert row.answerable is answerable
    assert row.passages[0].text == TEXT


@pytest.mark.parametrize("data", ["{", "5", "[]", "[5]", '[{"question": "q"}]', '{"data": [{"title": 1}]}'])
def test_a_file_that_is_no_question_set_is_refused(tmp_path: Path, data: str) -> None:
    path = tmp_path / "set.json"
    path.write_text(data)
    with pytest.raises(InvalidRequest) as caught:
        read_questions(path)
    assert caught.value.code == "invalid_data"


def outcome(answerable: bool, stated: float, answer: str = "1932") -> Outcome:
    row = Labelled("q", (Passage("a", TEXT),), ("1932",) if answerable else (), "t")
    result = AskResult("answered", answer, "", (), (), 1.0, (), "quote", (), {})
    return Outcome(row, 1.0, stated, answer, result)


def test_thresholds_laid_over_open_gates() -> None:
    rows = [
        outcome(True, 0.9),
        outcome(True, 0.4),
        outcome(False, 0.3),
        outcome(False, 0.1),
        outcome(False, 0.8),
    ]
    marks = answer_marks(rows, Thresholds("t", 0.5, 0.5, 0.5, 0.5))
    assert marks["answered_of_answerable"] == 0.5
    assert marks["abstained_of_unanswerable"] == pytest.approx(2 / 3)
    assert marks["balanced_accuracy"] == pytest.approx((0.5 + 2 / 3) / 2)
    assert (marks["f1_answerable"], marks["f1_answerable_gates_open"]) == (0.5, 1.0)
    assert marks["answer_precision"] == 0.5
    low, high = marks["balanced_accuracy_95"]
    assert low <= marks["balanced_accuracy"] <= high
    risks = [p["risk"] for p in risk_coverage(rows, 5)]
    assert risks == pytest.approx([0, 0.5, 1 / 3, 0.5, 0.6])


def test_passages_are_ranked_by_words_and_by_meaning(embedder: Embedder) -> None:
    texts = ["Bread needs flour and yeast.", TEXT, "The river freezes in winter.", "Loaves rise in an oven."]
    ranking = Ranking(texts, embedder)
    assert ranking.order("When did the old bridge open?")[0] == 1
    assert set(ranking.order("How is bread baked?")[:2]) == {0, 3}
    assert sorted(ranking.order("xyzzy")) == [0, 1, 2, 3]


def test_a_set_is_evaluated_whole(engine: Engine, embedder: Embedder) -> None:
    rows = [
        Labelled("When did the old bridge open?", (Passage("a", TEXT),), ("1932",), "bridge"),
        Labelled("Who designed the old tunnel?", (Passage("a", TEXT),), (), "bridge"),
        Labelled("How long is the river?", (Passage("b", "The river is 40 km long."),), ("40 km",), "river"),
    ]
    found = evaluate_set(engine, embedder, rows, compare=2, strange=3)
    marks = found["sets"]["all"]
    assert (marks["questions"], marks["answerable"], marks["verbatim"]) == (3, 2, 1.0)
    assert found["retrieval"]["found"] == 1.0
    assert found["off_topic"]["questions"] == 3
    assert set(found["styles"]) == {"cited", "free"}
    assert found["thresholds"] == load_thresholds().to_dict()
    assert "balanced_accuracy" in readable({"data": "x.json", **json.loads(json.dumps(found))})


def test_the_reader_alone_is_evaluated_without_decoding(engine: Engine, embedder: Embedder) -> None:
    rows = [Labelled("When did it open?", (Passage("a", TEXT),), ("1932",), "t")]
    rows.append(Labelled("Who closed it?", (Passage("a", TEXT),), (), "t"))
    other = Labelled("How long is the river?", (Passage("b", "The river is 40 km long."),), ("40 km",), "r")
    found = evaluate_reader(engine, embedder, rows, [*rows, other])
    assert found["retrieval"] == {"k": 5, "passages": 2, "questions": 1, "found": 1.0}
    assert found["off_topic"] == {"questions": 2, "stopped": 1.0}
    marks = found["sets"]["all, reader only"]
    assert (marks["questions"], marks["verbatim"]) == (2, 1.0)
    assert "reader only" in readable({"data": "x.json", **found})


def test_a_limit_keeps_the_file_s_order() -> None:
    rows = [Labelled(str(i), (Passage("a", TEXT),), (), "t" if i % 2 else "u") for i in range(20)]
    few = chosen(rows, ["t"], 5)
    assert len(few) == 5
    assert [int(r.question) for r in few] == sorted(int(r.question) for r in few)
