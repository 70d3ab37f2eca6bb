"""The bank loader: what it reads, and that every fault is named with its file and line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from interview.questions.loader import BankErrors, load_bank

TOPIC = """---
id: tides
title: Tides
order: 1
summary: Why the sea rises twice a day.
---
A primer with $$F \\propto 1/r^3$$.
"""
QUESTION = """---
id: why-tides
topic: tides
level: mid
title: Why are there tides?
ideas: [gravity]
points:
  - id: moon
    weight: 2
    means: The moon pulls the water.
    statements: [The moon pulls, The moon attracts water, Lunar gravity, The satellite draws the sea]
    anchors: [[moon, lunar], [pull, attract]]
  - id: twice
    weight: 1
    means: Two bulges make two floods a day.
    statements: [Two bulges, Twice a day, Two floods, The far side rises too]
    anchors: [[two, twice]]
  - id: sun
    weight: 1
    means: The sun adds to it.
    statements: [The sun adds, Solar pull, Spring tides, The sun helps]
    anchors: [[sun, solar]]
    numbers: [{value: 46, unit: percent, tolerance: 0.05, of: [sun]}]
misconceptions:
  - id: wind
    statements: [Tides are made by wind]
    right: Wind makes waves.
    points: [moon]
probes:
  - {point: moon, ask: "What pulls?"}
  - {point: twice, ask: "How often?"}
  - {point: sun, ask: "What else?"}
calculators:
  - {slug: tokens, query: "", label: "Tokens"}
playground:
  - {page: generate, label: "Try it"}
sources:
  - {title: "A book", url: "https://example.org/book", note: "chapter 2"}
computed:
  - {label: "Half", calculator: loss, query: "probability=0.5", result: nats, value: 0.693, unit: nats}
samples:
  - {label: strong, text: "s"}
  - {label: paraphrase, text: "p"}
  - {label: partial, text: "a"}
  - {label: weak, text: "w"}
  - {label: contradictory, text: "c"}
  - {label: stuffed, text: "k"}
---
## Question
Why does the sea rise and fall?

## Strong answer
The moon pulls.

```
## not a heading
```

## Weak answer
The wind.

## What is wrong with it
Wind makes waves.
"""


def write(root: Path, question: str = QUESTION, topic: str = TOPIC, name: str = "why-tides") -> Path:
    (root / "tides").mkdir(exist_ok=True)
    (root / "tides" / "_topic.md").write_text(topic, encoding="utf-8")
    (root / "tides" / f"{name}.md").write_text(question, encoding="utf-8")
    return root


def faults(root: Path) -> list[tuple[str, int, str]]:
    with pytest.raises(BankErrors) as caught:
        load_bank(root)
    return [(error.file.name, error.line, error.message) for error in caught.value.errors]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_reads_a_question_whole(tmp_path: Path) -> None:
    bank = load_bank(write(tmp_path))
    question = bank.question("why-tides")
    assert [topic.id for topic in bank.topics] == ["tides"]
    assert bank.of_topic("tides") == (question,)
    assert bank.topics[0].primer.startswith("A primer")
    assert question.rubric.points[2].numbers[0].value == 46
    assert question.rubric.misconceptions[0].points == ("moon",)
    assert "## not a heading" in question.strong_answer
    assert question.weak_because == "Wind makes waves."
    assert question.probes[1].point == "twice"
    assert question.sources[0].note == "chapter 2"
    assert question.computed[0].value == 0.693
    with pytest.raises(KeyError):
        bank.question("unknown")


def test_imports_neither_django_nor_torch() -> None:
    import subprocess

    code = (
        "import sys, interview.questions.loader; print([m for m in ('django', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_missing_anchors_of_the_third_point_name_its_line(tmp_path: Path) -> None:
    text = QUESTION.replace("    anchors: [[sun, solar]]\n", "")
    found = faults(write(tmp_path, text))
    assert found == [("why-tides.md", line_of(text, "- id: sun"), "point 'sun' (number 3) has no anchors")]


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("id: why-tides", "id: other-name", "id: other-name", "differs from the file's name"),
        ("topic: tides", "topic: waves", "topic: waves", "differs from the folder"),
        ("level: mid", "level: expert", "level: expert", "allowed are warm-up, mid, senior, staff"),
        ("level: mid", "level: mid\nlevle: mid", "levle", "unknown key 'levle'"),
        ("level: mid", "level: mid\nlevel: mid", "level: mid\nlevel: mid", "given twice"),
        ("title: Why are there tides?", "title: ''", "title: ''", "title is empty"),
        ("ideas: [gravity]", "ideas: []", "ideas: []", "ideas needs at least 1"),
        ("weight: 1\n    means: Two", "weight: none\n    means: Two", "weight: none", "a finite number"),
        (
            "[Two bulges, Twice a day, Two floods, The far side rises too]",
            "[Two]",
            "statements: [Two]",
            "at least 4",
        ),
        ("anchors: [[two, twice]]", "anchors: []", "anchors: []", "has no anchors"),
        ("anchors: [[two, twice]]", "anchors: [[]]", "[[]]", "at least 1 wanted"),
        ("anchors: [[two, twice]]", "anchors: [[2]]", "[[2]]", "text is wanted, got int"),
        ("- id: twice", "- id: moon", "- id: moon\n    weight: 1", "point 'moon' is given twice"),
        ("points: [moon]", "points: [mars]", "points: [mars]", "no point 'mars'"),
        ("{point: twice,", "{point: thrice,", "{point: thrice", "no point 'thrice'"),
        ("slug: tokens", "slug: tides", "{slug: tides", "no slug 'tides'"),
        ("page: generate", "page: beach", "{page: beach", "no page 'beach'"),
        ("https://example.org", "http://example.org", "http://", "must start with https://"),
        ("calculator: loss", "calculator: lost", "calculator: lost", "no calculator 'lost'"),
        ("value: 0.693", "value: much", "value: much", "value must be a number"),
        ("label: weak", "label: feeble", "label: feeble", "label 'feeble' is not allowed"),
        ('  - {label: stuffed, text: "k"}\n', "", "samples:", "samples needs at least 6"),
        ("## Weak answer", "## Poor answer", "## Poor answer", "unknown section"),
        ("The wind.\n", "", "## Weak answer", "'## Weak answer' is empty"),
        ("tolerance: 0.05", "tolerance: 2", "numbers: [", "relative tolerance"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, old: str, new: str, at: str, message: str) -> None:
    text = QUESTION.replace(old, new, 1)
    assert text != QUESTION
    found = faults(write(tmp_path, text))
    expected = line_of(text, at)
    assert any(message in text_ and abs(line - expected) <= 1 for _, line, text_ in found), found


def test_a_missing_section_is_a_fault(tmp_path: Path) -> None:
    text = QUESTION[: QUESTION.index("## What is wrong")]
    assert faults(write(tmp_path, text)) == [
        ("why-tides.md", 1, "section '## What is wrong with it' is missing")
    ]


def test_broken_yaml_names_its_line(tmp_path: Path) -> None:
    text = QUESTION.replace("level: mid", "level: [mid")
    name, line, message = faults(write(tmp_path, text))[0]
    assert name == "why-tides.md" and message.startswith("YAML: ")
    assert 4 <= line <= 6


def test_a_file_without_front_matter_and_one_in_another_encoding(tmp_path: Path) -> None:
    write(tmp_path, "Just text.")
    (tmp_path / "tides" / "latin.md").write_bytes("---\nid: caf\xe9\n---\n".encode("latin-1"))
    messages = [message for _, _, message in faults(tmp_path)]
    assert any("not UTF-8" in message for message in messages)
    assert any("front matter is missing" in message for message in messages)


def test_faults_of_all_files_come_together(tmp_path: Path) -> None:
    write(tmp_path, QUESTION.replace("level: mid", "level: x"))
    write(tmp_path, QUESTION.replace("level: mid", "level: y"), name="second")
    (tmp_path / "empty").mkdir()
    files = {file for file, _, _ in faults(tmp_path)}
    assert files == {"why-tides.md", "second.md", "_topic.md"}


def test_an_id_used_twice_and_an_order_used_twice(tmp_path: Path) -> None:
    write(tmp_path)
    other = tmp_path / "waves"
    other.mkdir()
    (other / "_topic.md").write_text(TOPIC.replace("id: tides", "id: waves"), encoding="utf-8")
    (other / "why-tides.md").write_text(QUESTION.replace("topic: tides", "topic: waves"), encoding="utf-8")
    messages = [message for _, _, message in faults(tmp_path)]
    assert any("is also used by" in message for message in messages)
    assert any("order 1 is also that of topic" in message for message in messages)


def test_topic_faults(tmp_path: Path) -> None:
    broken = TOPIC.replace("order: 1", "order: first").replace("id: tides", "id: ebb")
    messages = [message for _, _, message in faults(write(tmp_path, topic=broken))]
    assert any("order must be a whole number" in message for message in messages)
    assert any("differs from the folder" in message for message in messages)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    assert faults(tmp_path / "nowhere")[0][2].startswith("no such folder")
