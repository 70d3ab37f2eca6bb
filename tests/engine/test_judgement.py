"""The grader's small model: boosted trees, the labelled answers they learn from, and the evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engine import evaluate_grading
from engine.boosting import Settings, fit
from engine.judgement import FOLDS, fold_of, load_model
from engine.labelled import grouped, read_labelled
from engine.train_grading import macro_f1, threshold
from engine.trees import Trees

SEMEVAL = """<question id="Q"><questionText>Why is the voltage 0?</questionText><referenceAnswers>
<referenceAnswer id="a">The terminals are connected</referenceAnswer>
<referenceAnswer id="b">There is no gap between the terminals</referenceAnswer></referenceAnswers><studentAnswers>
<studentAnswer id="1" accuracy="correct">The terminals are connected.</studentAnswer>
<studentAnswer id="2" accuracy="contradictory">The terminals are not connected.</studentAnswer>
<studentAnswer id="3" accuracy="incorrect">I ate a sandwich on the train.</studentAnswer>
<studentAnswer id="4" accuracy="incorrect"> </studentAnswer></studentAnswers></question>"""
SAF = """<question id="7"><questionText>What is TCP?</questionText><referenceAnswers>
<referenceAnswer id="a">A protocol that delivers bytes in order.</referenceAnswer></referenceAnswers><studentAnswers>
<studentAnswer id="1"><response>It delivers bytes in order.</response><score>1</score>
<verification_feedback>Correct</verification_feedback></studentAnswer>
<studentAnswer id="2"><response>No submission. </response><score>0</score>
<verification_feedback>Incorrect</verification_feedback></studentAnswer></studentAnswers></question>"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for folder, name, text in (("beetle", "q.xml", SEMEVAL), ("training", "7.xml", SAF)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text, "utf-8")
    return tmp_path


def toy() -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(3).random((600, 5)).astype(np.float32)
    return rows, (rows[:, 1] > 0.5) & (rows[:, 3] < 0.7)


def test_trees_learn_a_rule_of_two_features() -> None:
    rows, target = toy()
    settings = Settings(trees=60, depth=3, columns=1.0)
    trees = fit(rows[:400], target[:400], np.ones(400, np.float32), settings)
    right = (trees.chance(rows[400:]) > 0.5) == target[400:]
    assert right.mean() > 0.95
    again = fit(rows[:400], target[:400], np.ones(400, np.float32), settings)
    assert np.array_equal(trees.leaves, again.leaves)


def test_trees_survive_the_file() -> None:
    rows, target = toy()
    trees = fit(rows, target, np.ones(600, np.float32), Settings(trees=20, columns=1.0))
    back = Trees.from_dict(json.loads(json.dumps(trees.to_dict())))
    assert np.allclose(back.chance(rows), trees.chance(rows), atol=1e-3)


def test_labelled_answers_are_read_without_placeholders(data: Path) -> None:
    items = read_labelled(data)
    assert [(item.set, item.gold) for item in items] == [
        ("beetle", "correct"),
        ("beetle", "contradictory"),
        ("beetle", "incorrect"),
        ("networks", "correct"),
    ]
    assert items[0].references == ("The terminals are connected", "There is no gap between the terminals")
    assert [len(group) for group in grouped(items)] == [3, 1]
    with pytest.raises(FileNotFoundError, match="no labelled answers"):
        read_labelled(data / "beetle" / "nowhere")


def test_macro_f1_by_hand() -> None:
    # "a": 1 hit, 2 gold, 1 found -> 2/3; "b": 1 hit, 1 gold, 2 found -> 2/3.
    assert macro_f1(["a", "a", "b"], ["a", "b", "b"]) == pytest.approx(2 / 3)


def test_the_bar_keeps_contradictory_answers_out() -> None:
    gold = np.array(["correct"] * 10 + ["contradictory"] * 10 + ["incorrect"] * 10)
    right = np.array([0.9] * 10 + [0.6] * 10 + [0.1] * 10, dtype=np.float32)
    assert (
        threshold(right, gold, np.array(["beetle"] * 30)) == 0.9
    )  # science has no answers: nothing to choose by
    sets = np.array(["beetle", "science"] * 15)
    assert 0.6 < threshold(right, gold, sets) <= 0.9


def test_folds_go_by_the_words_of_question_and_reference() -> None:
    assert fold_of("Why  is it\nso?", ["So."]) == fold_of("why is it so?", ["so."])
    assert fold_of("Why?", ["It is."]) == fold_of("Why?", ["It is."])
    assert {fold_of(f"question {i}", ["Yes."]) for i in range(60)} == set(range(FOLDS))
    assert len(load_model().folds) == FOLDS


@pytest.mark.usefixtures("models_dir")
def test_the_evaluation_counts_what_it_graded(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = data / "features.npz"
    arguments = ["--data", str(data), "--features", str(kept), "--json"]
    assert evaluate_grading.main(arguments) == 0
    first = capsys.readouterr().out
    found = json.loads(first)
    beetle = found["sets"]["beetle"]
    assert sum(sum(row.values()) for row in beetle["confusion"].values()) == beetle["answers"] == 3
    assert beetle["confusion"]["contradictory"]["correct"] == beetle["contradictory_accepted"] == 0
    assert beetle["confusion"]["correct"]["correct"] == 1
    assert found["made"]["question_copied"] == {"answers": 1, "accepted": 0}
    assert found["made"]["reference_denied"]["accepted"] == 0
    assert kept.is_file()
    assert evaluate_grading.main(arguments) == 0
    assert capsys.readouterr().out == first
    assert evaluate_grading.main(["--data", str(data / "nothing")]) == 1
