"""Load the question bank from its text files; every fault is reported with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.rubric import Rubric, RubricError
from interview.questions.frontmatter import BankError, Document, read_document

LEVELS = ("warm-up", "mid", "senior", "staff")
CALCULATORS = [
    "tokens",
    "kv-cache",
    "context-budget",
    "attention",
    "parameters",
    "sampling",
    "loss",
    "latency",
    "cost",
    "bpe",
    "positions",
    "batching",
    "speculative",
    "selection",
]
PLAYGROUND_PAGES = [
    "generate",
    "next-token",
    "attention",
    "structured-output",
    "tools",
    "trials",
    "serving",
    "prompts",
    "documents",
]
SAMPLE_LABELS = ("strong", "paraphrase", "partial", "weak", "contradictory", "stuffed", "off_topic")
SECTIONS = ("Question", "Strong answer", "Weak answer", "What is wrong with it")
QUESTION_KEYS = [
    "id",
    "topic",
    "level",
    "title",
    "ideas",
    "points",
    "misconceptions",
    "probes",
    "calculators",
    "playground",
    "sources",
    "computed",
    "samples",
]
TOPIC_KEYS = ("id", "title", "order", "summary")
MIN_STATEMENTS = 4
MIN_SAMPLES = 6
TOPIC_FILE = "_topic.md"


class BankErrors(Exception):
    """The bank can't be loaded; `errors` holds every fault found, sorted by file and line."""

    def __init__(self, errors: Iterable[BankError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda error: (str(error.file), error.line)))
        super().__init__("\n".join(str(error) for error in self.errors))


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic: its primer and its place in the reading order."""

    id: str
    title: str
    order: int
    summary: str
    primer: str
    file: Path


@dataclass(frozen=True, slots=True)
class Probe:
    """A follow-up question aimed at one key point."""

    point: str
    ask: str


@dataclass(frozen=True, slots=True)
class CalculatorLink:
    """A calculator with the inputs that fit the question, as a query string."""

    slug: str
    query: str
    label: str


@dataclass(frozen=True, slots=True)
class PlaygroundLink:
    """A playground page that shows the mechanism."""

    page: str
    label: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact comes from."""

    title: str
    url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Computed:
    """A number of the text that a formula reproduces: value in unit."""

    label: str
    calculator: str
    query: str
    result: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A labelled answer that tests the grader."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question with all that is needed to ask, assess and teach it."""

    id: str
    topic: str
    level: str
    title: str
    ideas: tuple[str, ...]
    rubric: Rubric
    probes: tuple[Probe, ...]
    calculators: tuple[CalculatorLink, ...]
    playground: tuple[PlaygroundLink, ...]
    sources: tuple[Source, ...]
    computed: tuple[Computed, ...]
    samples: tuple[Sample, ...]
    prompt: str
    strong_answer: str
    weak_answer: str
    weak_because: str
    file: Path


@dataclass(frozen=True, slots=True)
class Bank:
    """All topics in reading order and all questions in the order of their topics, then level, then id."""

    topics: tuple[Topic, ...]
    questions: tuple[Question, ...]

    def question(self, id: str) -> Question:
        """The question with this id; raises KeyError."""
        for question in self.questions:
            if question.id == id:
                return question
        raise KeyError(id)

    def of_topic(self, topic: str) -> tuple[Question, ...]:
        """The questions of one topic, easiest first."""
        return tuple(question for question in self.questions if question.topic == topic)


def load_bank(path: Path) -> Bank:
    """Read every topic folder under `path`; raises BankErrors holding every fault."""
    errors: list[BankError] = []
    if not path.is_dir():
        raise BankErrors([BankError(path, 1, "no such folder; it should hold one folder a topic")])
    topics: dict[str, Topic] = {}
    questions: list[Question] = []
    for folder in sorted(item for item in path.iterdir() if item.is_dir()):
        if not (folder / TOPIC_FILE).is_file():
            errors.append(BankError(folder / TOPIC_FILE, 1, "a topic folder needs this file"))
        for file in sorted(folder.glob("*.md")):
            document = read_document(file)
            if not document.meta:
                pass  # nothing to look at; its errors say why
            elif file.name == TOPIC_FILE:
                _keep(topics, _topic(document, folder.name))
            else:
                _keep_question(questions, _question(document, folder.name))
            errors += document.errors
    errors += _across_files(topics, questions)
    if errors:
        raise BankErrors(errors)
    order = {topic.id: topic.order for topic in topics.values()}
    questions.sort(key=lambda item: (order[item.topic], LEVELS.index(item.level), item.id))
    return Bank(tuple(sorted(topics.values(), key=lambda topic: topic.order)), tuple(questions))


def _keep(topics: dict[str, Topic], topic: Topic | None) -> None:
    if topic is not None:
        topics[topic.id] = topic


def _keep_question(questions: list[Question], question: Question | None) -> None:
    if question is not None:
        questions.append(question)


def _across_files(topics: dict[str, Topic], questions: list[Question]) -> list[BankError]:
    """Faults that only show when all files are known: double ids and double order numbers."""
    errors: list[BankError] = []
    seen: dict[str, Path] = {}
    for question in questions:
        if question.id in seen:
            errors.append(
                BankError(question.file, 1, f"id {question.id!r} is also used by {seen[question.id]}")
            )
        seen.setdefault(question.id, question.file)
    orders: dict[int, str] = {}
    for topic in topics.values():
        if topic.order in orders:
            errors.append(
                BankError(topic.file, 1, f"order {topic.order} is also that of topic {orders[topic.order]!r}")
            )
        orders.setdefault(topic.order, topic.id)
    return errors


def _topic(document: Document, folder: str) -> Topic | None:
    _known_keys(document, TOPIC_KEYS, document.meta, ())
    values = {key: _text(document, document.meta, (), key) for key in ("id", "title", "summary")}
    order = document.meta.get("order")
    if not isinstance(order, int) or isinstance(order, bool):
        document.fail(f"order must be a whole number, got {order!r}", "order")
    if values["id"] and values["id"] != folder:
        document.fail(f"id {values['id']!r} differs from the folder's name {folder!r}", "id")
    if not document.body:
        document.fail("the primer (the text after the front matter) is missing")
    if document.errors or not isinstance(order, int):
        return None
    return Topic(values["id"], values["title"], order, values["summary"], document.body, document.file)


def _question(document: Document, folder: str) -> Question | None:
    meta = document.meta
    _known_keys(document, QUESTION_KEYS, meta, ())
    names = {key: _text(document, meta, (), key) for key in ("id", "topic", "level", "title")}
    _check_names(document, names, folder)
    point_ids = _check_points(document, meta.get("points"))
    _check_misconceptions(document, meta.get("misconceptions"), point_ids)
    probes = _probes(document, meta.get("probes"), point_ids)
    calculators = _links(document, "calculators", CalculatorLink, ("slug", "query", "label"), CALCULATORS)
    playground = _links(document, "playground", PlaygroundLink, ("page", "label"), PLAYGROUND_PAGES)
    sources = _sources(document, meta.get("sources", []))
    computed = _computed(document, meta.get("computed", []))
    samples = _samples(document, meta.get("samples"))
    sections = _sections(document)
    ideas = _ideas(document, meta.get("ideas"))
    rubric = None if document.errors else _rubric(document)
    if rubric is None:
        return None
    return Question(
        names["id"], names["topic"], names["level"], names["title"], ideas, rubric, probes, calculators,
        playground, sources, computed, samples, *sections, document.file,
    )  # fmt: skip


def _check_names(document: Document, names: dict[str, str], folder: str) -> None:
    slug, id, topic, level = document.file.stem, names["id"], names["topic"], names["level"]
    if id and id != slug:
        document.fail(f"id {id!r} differs from the file's name {slug!r}", "id")
    if id and not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id):
        document.fail(f"id {id!r} may hold lower-case letters, digits and single hyphens only", "id")
    if topic and topic != folder:
        document.fail(f"topic {topic!r} differs from the folder {folder!r}", "topic")
    if level and level not in LEVELS:
        document.fail(f"level {level!r} is not allowed; allowed are {', '.join(LEVELS)}", "level")


def _check_points(document: Document, points: Any) -> tuple[str, ...]:
    ids: list[str] = []
    for i, point in enumerate(_list(document, points, ("points",), at_least=2)):
        where = ("points", i)
        if not _is_mapping(document, point, where):
            continue
        id = _text(document, point, where, "id")
        if id in ids:
            document.fail(f"point {id!r} is given twice", *where, "id")
        ids.append(id)
        for key in ("weight", "means", "statements", "anchors"):
            if key not in point:
                document.fail(f"point {id!r} (number {i + 1}) has no {key}", *where)
        if isinstance(point.get("statements"), list) and len(point["statements"]) < MIN_STATEMENTS:
            document.fail(
                f"point {id!r} needs at least {MIN_STATEMENTS} differently worded statements, "
                f"got {len(point['statements'])}",
                *where,
                "statements",
            )
        if point.get("anchors") == []:
            document.fail(f"point {id!r} (number {i + 1}) has no anchors", *where, "anchors")
    return tuple(ids)


def _check_misconceptions(document: Document, items: Any, point_ids: tuple[str, ...]) -> None:
    for i, item in enumerate(_list(document, items, ("misconceptions",), at_least=1)):
        if not _is_mapping(document, item, ("misconceptions", i)):
            continue
        points = item.get("points", [])
        for j, name in enumerate(points if isinstance(points, list) else []):
            _known_point(document, name, point_ids, ("misconceptions", i, "points", j))


def _known_point(document: Document, name: Any, ids: tuple[str, ...], where: tuple[str | int, ...]) -> None:
    if name not in ids:
        document.fail(f"no point {name!r}; the points are {', '.join(ids)}", *where)


def _probes(document: Document, items: Any, point_ids: tuple[str, ...]) -> tuple[Probe, ...]:
    probes = []
    for i, item in enumerate(_list(document, items, ("probes",), at_least=1)):
        where = ("probes", i)
        if not _is_mapping(document, item, where):
            continue
        _known_keys(document, ("point", "ask"), item, where)
        probe = Probe(_text(document, item, where, "point"), _text(document, item, where, "ask"))
        if probe.point:
            _known_point(document, probe.point, point_ids, (*where, "point"))
        probes.append(probe)
    for id in point_ids:
        if id and id not in {probe.point for probe in probes}:
            document.fail(f"point {id!r} has no probe", "probes")
    return tuple(probes)


def _links(
    document: Document, key: str, kind: type[Any], fields: tuple[str, ...], allowed: list[str]
) -> tuple[Any, ...]:
    links = []
    for i, item in enumerate(_list(document, document.meta.get(key, []), (key,))):
        where = (key, i)
        if not _is_mapping(document, item, where):
            continue
        _known_keys(document, fields, item, where)
        values = [_text(document, item, where, name, empty=name == "query") for name in fields]
        if values[0] and values[0] not in allowed:
            document.fail(
                f"no {fields[0]} {values[0]!r}; allowed are {', '.join(allowed)}", *where, fields[0]
            )
        links.append(kind(*values))
    return tuple(links)


def _sources(document: Document, items: Any) -> tuple[Source, ...]:
    sources = []
    for i, item in enumerate(_list(document, items, ("sources",), at_least=1)):
        where = ("sources", i)
        if not _is_mapping(document, item, where):
            continue
        _known_keys(document, ("title", "url", "note"), item, where)
        url = _text(document, item, where, "url", empty=True)
        if url and not url.startswith("https://"):
            document.fail(f"address {url!r} must start with https://", *where, "url")
        title = _text(document, item, where, "title")
        sources.append(Source(title, url, _text(document, item, where, "note", empty=True)))
    return tuple(sources)


def _computed(document: Document, items: Any) -> tuple[Computed, ...]:
    fields = ("label", "calculator", "query", "result", "value", "unit")
    computed = []
    for i, item in enumerate(_list(document, items, ("computed",))):
        where = ("computed", i)
        if not _is_mapping(document, item, where):
            continue
        _known_keys(document, fields, item, where)
        label, slug, query, result, unit = (
            _text(document, item, where, key) for key in fields if key != "value"
        )
        value = item.get("value")
        if isinstance(value, bool) or not isinstance(value, int | float):
            document.fail(f"value must be a number, got {value!r}", *where, "value")
            continue
        if slug and slug not in CALCULATORS:
            document.fail(f"no calculator {slug!r}; allowed are {', '.join(CALCULATORS)}", *where)
        computed.append(Computed(label, slug, query, result, float(value), unit))
    return tuple(computed)


def _samples(document: Document, items: Any) -> tuple[Sample, ...]:
    samples = []
    for i, item in enumerate(_list(document, items, ("samples",), at_least=MIN_SAMPLES)):
        where = ("samples", i)
        if not _is_mapping(document, item, where):
            continue
        _known_keys(document, ("label", "text"), item, where)
        sample = Sample(_text(document, item, where, "label"), _text(document, item, where, "text"))
        if sample.label and sample.label not in SAMPLE_LABELS:
            allowed = ", ".join(SAMPLE_LABELS)
            document.fail(f"label {sample.label!r} is not allowed; allowed are {allowed}", *where)
        samples.append(sample)
    return tuple(samples)


def _ideas(document: Document, items: Any) -> tuple[str, ...]:
    ideas = _list(document, items, ("ideas",), at_least=1)
    for i, idea in enumerate(ideas):
        if not isinstance(idea, str) or not idea.strip():
            document.fail("an idea is the id of a row of ideas.yaml", "ideas", i)
    return tuple(str(idea) for idea in ideas)


def _sections(document: Document) -> tuple[str, str, str, str]:
    for title, line in document.section_lines.items():
        if title not in SECTIONS:
            document.errors.append(
                BankError(
                    document.file, line, f"unknown section {title!r}; the sections are {', '.join(SECTIONS)}"
                )
            )
    for title in SECTIONS:
        if not document.sections.get(title):
            line = document.section_lines.get(title, 1)
            problem = "is empty" if title in document.sections else "is missing"
            document.errors.append(BankError(document.file, line, f"section '## {title}' {problem}"))
    prompt, strong, weak, because = (document.sections.get(title, "") for title in SECTIONS)
    return prompt, strong, weak, because


def _rubric(document: Document) -> Rubric | None:
    """The rubric of a question whose form is right; its own faults are reported at their line."""
    data = {key: document.meta.get(key, []) for key in ("points", "misconceptions")}
    try:
        return Rubric.from_dict(data)
    except RubricError as error:
        parts = re.findall(r"[^.\[\]]+", error.path)
        where = [int(part) if part.isdigit() else part for part in parts]
        document.fail(str(error), *where)
        return None


def _known_keys(
    document: Document, allowed: Iterable[str], mapping: dict[str, Any], where: tuple[str | int, ...]
) -> None:
    allowed = tuple(allowed)
    for key in mapping:
        if key not in allowed:
            document.fail(f"unknown key {key!r}; the keys are {', '.join(allowed)}", *where, key)


def _text(
    document: Document,
    mapping: dict[str, Any],
    where: tuple[str | int, ...],
    key: str,
    *,
    empty: bool = False,
) -> str:
    value = mapping.get(key, "" if empty else None)
    if not isinstance(value, str):
        problem = f"{key} is missing" if value is None else f"{key} must be text, got {value!r}"
        document.fail(problem, *where, key)
        return ""
    if not value.strip() and not empty:
        document.fail(f"{key} is empty", *where, key)
    return value.strip()


def _list(document: Document, items: Any, where: tuple[str | int, ...], at_least: int = 0) -> list[Any]:
    if items is None:
        items = []
    if not isinstance(items, list):
        document.fail(f"{where[-1]} must be a list", *where)
        return []
    if len(items) < at_least:
        document.fail(f"{where[-1]} needs at least {at_least}, got {len(items)}", *where)
    return items


def _is_mapping(document: Document, item: Any, where: tuple[str | int, ...]) -> bool:
    if isinstance(item, dict):
        return True
    document.fail(f"{where[0]} holds mappings of keys to values, got {item!r}", *where)
    return False
