"""JSON lines: whatever one line holds, the lines after it are answered."""

from __future__ import annotations

import io
import json
import sys

import pytest

from engine.grading_cli import run_grade_lines
from engine.lines import each_line, text_lines

RUBRIC = {
    "points": [
        {
            "id": "linear",
            "weight": 1,
            "means": "The cache grows linearly.",
            "statements": ["The KV cache grows linearly with the tokens."],
            "anchors": [["cache"], ["linearly"]],
        }
    ],
    "misconceptions": [],
}
BAD = ["[", "null", "5", '{"a":"\\ud800"}', "[" * 100_000, '{"seed":' + "9" * 5000 + "}"]


@pytest.mark.parametrize("line", BAD, ids=range(len(BAD)))
def test_a_bad_line_yields_its_error_and_the_rest_go_on(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert each_line([line, '{"fine": 1}', ""], lambda data: data) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert json.loads(first)["error"]["code"] == "malformed_line"
    assert json.loads(second) == {"fine": 1}


def test_good_lines_end_with_status_0() -> None:
    assert each_line(['{"fine": 1}'], lambda data: data) == 0


def test_bytes_that_are_no_utf8_are_one_bad_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = io.TextIOWrapper(io.BytesIO(b'"\xff"\n{"fine": 1}\n'))
    monkeypatch.setattr(sys, "stdin", raw)
    assert each_line(text_lines(), lambda data: data) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.usefixtures("models_dir")
def test_answers_are_graded_line_by_line() -> None:
    answer = "The cache grows linearly with every token."
    lines = [
        {"question": "Why?", "answer": answer, "rubric": RUBRIC},
        {"question": "Why?", "answer": answer, "reference": "It grows."},
        {"question": "Why?", "answer": answer},
        {"question": "Why?", "answer": 5, "rubric": RUBRIC},
        {"question": "Why?", "answer": answer, "rubric": {"points": 3}},
        {"question": "Why?", "answer": answer, "rubric": RUBRIC, "more": 1},
    ]
    out = io.StringIO()
    assert run_grade_lines([json.dumps(line) for line in lines], out) == 1
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    assert (found[0]["verdict"], found[0]["points"][0]["evidence"]) == ("correct", [0, 41])
    assert found[1]["verdict"] == "correct"
    codes = [answer["error"]["code"] for answer in found[2:]]
    assert codes[:2] == ["nothing_to_grade_by", "invalid_field"]
    assert codes[3] == "unknown_key"
