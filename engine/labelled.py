"""Short answers that people labelled, read from the folders of SemEval 2013 task 7 and of SAF."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engine.rubric import Rubric

Gold = Literal["correct", "contradictory", "incorrect", "partial"]
SEMEVAL: dict[str, Gold] = {
    "correct": "correct",
    "contradictory": "contradictory",
    "incorrect": "incorrect",
}
SAF: dict[str, Gold] = {"Correct": "correct", "Partially correct": "partial", "Incorrect": "incorrect"}
SETS = {"beetle": "beetle", "sciEntsBank": "science"}
PLACEHOLDER = re.compile(r"no (?:response|submission)|empty submission|not attempted", re.I)


@dataclass(frozen=True, slots=True)
class Labelled:
    """One answer with its question, the reference answers (alternatives) and the label that people gave."""

    set: str
    question_id: str
    question: str
    references: tuple[str, ...]
    answer: str
    gold: Gold


def read_labelled(folder: Path) -> list[Labelled]:
    """Every labelled answer under a folder, in the order of the file names; raises FileNotFoundError."""
    files = sorted(folder.rglob("*.xml"))
    if not files:
        raise FileNotFoundError(f"no labelled answers (*.xml) under {folder}")
    return [item for file in files for item in _read(file)]


def _read(file: Path) -> Iterator[Labelled]:
    root = ET.parse(file).getroot()
    question = _text(root.find("questionText"))
    references = tuple(text for text in map(_text, root.iter("referenceAnswer")) if text)
    if not question or not references:
        return
    name = f"{file.parent.name}/{file.stem}"
    for element in root.iter("studentAnswer"):
        found = _labelled(element)
        if found is not None:
            yield Labelled(SETS.get(file.parent.name, "networks"), name, question, references, *found)


def _labelled(element: ET.Element) -> tuple[str, Gold] | None:
    accuracy = element.get("accuracy")
    if accuracy is not None:
        text = _text(element)
        return (text, SEMEVAL[accuracy]) if text and accuracy in SEMEVAL else None
    text, verdict = _text(element.find("response")), _text(element.find("verification_feedback"))
    if not text or PLACEHOLDER.match(text) or verdict not in SAF:
        return None
    return text, SAF[verdict]


def _text(element: ET.Element | None) -> str:
    return " ".join((element.text or "").split()) if element is not None else ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One of the bank's sample answers with its rubric and its kind (strong, paraphrase, partial, stuffed ...)."""

    labelled: Labelled
    rubric: Rubric
    kind: str


KINDS: dict[str, Gold] = {"strong": "correct", "paraphrase": "correct", "contradictory": "contradictory"}


def read_samples(path: Path) -> list[Sample]:
    """The samples that `manage.py export_samples` wrote, one JSON object a line."""
    return [_sample(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _sample(data: Mapping[str, Any]) -> Sample:
    rubric = Rubric.from_dict(data["rubric"])
    reference = " ".join(point.means for point in rubric.points if not point.optional)
    gold = KINDS.get(data["label"], "incorrect")
    item = Labelled("bank", f"bank/{data['id']}", data["question"], (reference,), data["answer"], gold)
    return Sample(item, rubric, data["label"])


def grouped(items: Iterable[Labelled]) -> list[list[Labelled]]:
    """The answers of each question together, questions in the order of their first answer."""
    groups: dict[str, list[Labelled]] = {}
    for item in items:
        groups.setdefault(item.question_id, []).append(item)
    return list(groups.values())
