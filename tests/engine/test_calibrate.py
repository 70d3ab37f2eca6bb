"""The thresholds of the gates: set from labelled questions, stored with their version, read back by the gates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import InvalidRequest
from engine.abstention import Outcome
from engine.answers import AskResult
from engine.calibrate import labelled, main, retrieval_floor, stated_edge
from engine.embeddings import Embedder
from engine.question_sets import Labelled
from engine.relevance import consider
from engine.thresholds import load_thresholds
from engine.train_data import read_squad
from engine.types import Passage

BRIDGE = "The old bridge was designed by Ann Lee. It opened in 1932 after six years of work."
BREAD = "Rye bread needs flour, water and a sour starter. The baker lets it rise for twelve hours."
RIVER = "The river is 40 km long and freezes in winter. Ships use it in summer."


def squad(path: Path) -> Path:
    """Three articles of one passage each, with an answerable and an unanswerable question."""

    def article(title: str, text: str, asked: str, answer: str, trap: str) -> dict[str, object]:
        answers = [{"text": answer, "answer_start": text.index(answer)}]
        qas = [
            {"id": f"{title}1", "question": asked, "answers": answers},
            {"id": f"{title}2", "question": trap, "answers": [], "is_impossible": True},
        ]
        return {"title": title, "paragraphs": [{"context": text, "qas": qas}]}

    data = [
        article("Bridge", BRIDGE, "When did the old bridge open?", "1932", "Who repainted the old bridge?"),
        article("Bread", BREAD, "What does rye bread need?", "flour", "What does wheat bread need?"),
        article("River", RIVER, "How long is the river?", "40 km", "How deep is the river?"),
    ]
    path.write_text(json.dumps({"version": "v2.0", "data": data}))
    return path


def asked(stated: float, answerable: bool) -> Outcome:
    row = Labelled("q", (Passage("a", BRIDGE),), ("1932",) if answerable else (), "t")
    return Outcome(row, 1.0, stated, "", AskResult("answered", "", "", (), (), 1.0, (), "quote", (), {}))


def test_the_edge_errs_alike_on_both_halves() -> None:
    rows = [asked(0.9, True), asked(0.7, True), asked(0.6, False), asked(0.2, False), asked(0.1, False)]
    assert 0.6 < stated_edge(rows) < 0.7
    rows += [asked(0.15, True), asked(0.95, False)]
    assert 0.2 < stated_edge(rows) < 0.7, "one in three of each"


def test_the_floor_lies_between_what_is_on_topic_and_off(tmp_path: Path, embedder: Embedder) -> None:
    rows = labelled(read_squad(squad(tmp_path / "squad.json")))
    floor, stopped = retrieval_floor(rows, embedder)
    on = [consider(row.question, row.passages, embedder)[0].relevance for row in rows]
    assert floor < sorted(on)[2]
    assert stopped is not None and stopped >= 5 / 6
    assert retrieval_floor(rows, embedder) == (floor, stopped), "the same seed draws the same"


def test_the_command_writes_what_the_gates_read_and_leaves_held_articles_alone(
    tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFILL_MODELS_DIR", str(models_dir))
    out = tmp_path / "thresholds.json"
    data = squad(tmp_path / "squad.json")
    argv = ["--data", str(data), "--hold", "River", "--version", "9", "--out", str(out)]
    assert main(argv) == 0
    card = json.loads(out.read_text())
    assert card["questions"] == 2, "every tenth passage of the articles that are not held"
    assert card["command"] == "python -m engine calibrate --data squad.json --hold River --version 9"
    assert card["adapter"].startswith("answerability")
    assert 0 <= card["marks"]["balanced_accuracy"] <= 1
    read = load_thresholds(out)
    assert (read.version, read.relevance, read.stated) == ("9", card["relevance"], card["stated"])
    assert read.share == load_thresholds().share, "what is not measured is kept"
    with pytest.raises(InvalidRequest, match="no article"):
        main([*argv[:3], "Sea", *argv[4:]])
