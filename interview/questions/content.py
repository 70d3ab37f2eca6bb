"""What an own question says, as plain data: checked in one place for forms and for every import format."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from engine.rubric import Rubric, RubricError
from interview.plain_text import is_blank, storable_json
from interview.questions.loader import CALCULATORS, LEVELS, PLAYGROUND_PAGES, SAMPLE_LABELS
from interview.questions.models import OTHER_TOPIC

UID = re.compile(r"[^\s\x00-\x1f\x7f]{1,80}")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“(\[])|\n{2,}|\n(?=[-*] )")
LIMITS = {"title": 200, "prompt": 8_000, "strong": 20_000, "weak": 20_000, "weak_wrong": 8_000}
MOST = {
    "points": 20,
    "misconceptions": 20,
    "probes": 40,
    "samples": 40,
    "sources": 20,
    "calculators": 10,
    "playground": 10,
}
MOST_INSIDE = {"statements": 100, "anchors": 20, "numbers": 20}  # of one point or misconception
LARGEST_WEIGHT = 100
LONGEST_TEXT = 20_000  # of any single text inside probes and samples
LARGEST_RUBRIC = 200_000  # characters of all points and misconceptions together
PROBE = "There is more to this. What else belongs in a full answer?"
Json = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """What is wrong with one part: `where` is a path such as `points[0].weight`."""

    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}" if self.where else self.problem


class ContentRefused(Exception):
    """A question that can't be kept as it is; `faults` says where and why."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(str(fault) for fault in faults))
        self.faults = faults


@dataclass(frozen=True)
class Content:
    """One question with all that is needed to ask, assess and export it."""

    uid: str
    title: str
    prompt: str
    strong: str
    topic: str = OTHER_TOPIC
    level: str = "mid"
    weak: str = ""
    weak_wrong: str = ""
    points: list[Json] = field(default_factory=list)
    misconceptions: list[Json] = field(default_factory=list)
    probes: list[Json] = field(default_factory=list)
    samples: list[Json] = field(default_factory=list)
    sources: list[Json] = field(default_factory=list)
    calculators: list[Json] = field(default_factory=list)
    playground: list[Json] = field(default_factory=list)

    @property
    def rubric(self) -> Rubric:
        """What an answer is held against."""
        return Rubric.from_dict({"points": self.points, "misconceptions": self.misconceptions})

    def to_dict(self) -> Json:
        """Plain JSON data; `content_from` of it gives an equal content."""
        return asdict(self)

    @property
    def hash(self) -> str:
        """sha256 of the content without its `uid`: two equal questions have the same."""
        data = {key: value for key, value in self.to_dict().items() if key != "uid"}
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


FIELDS = tuple(Content.__dataclass_fields__)
TEXTS = ("title", "prompt", "strong", "weak", "weak_wrong")


def content_from(data: Mapping[str, Any], *, topics: Collection[str]) -> Content:
    """A checked content. Points may be left out: then each sentence of the reference becomes one.

    Raises ContentRefused with every fault found.
    """
    fields: Json = storable_json(dict(data))
    faults = [
        Fault(key, f"unknown; the fields are {', '.join(FIELDS)}") for key in fields if key not in FIELDS
    ]
    values: Json = {key: _text(fields, key, faults) for key in ("uid", "topic", "level", *TEXTS)}
    for key, most in MOST.items():
        values[key] = _list(fields, key, most, faults)
    _check_names(values, topics, faults)
    _check_lists(values, faults)
    if faults:
        raise ContentRefused(faults)
    values["points"] = values["points"] or proposed_points(values["strong"])
    values["title"] = values["title"] or _first_words(values["prompt"])
    return _complete(values)


def proposed_points(reference: str) -> list[Json]:
    """Key points for a reference that has none: each of its sentences, in order."""
    found = [" ".join(sentence.split()) for sentence in SENTENCE.split(reference)]
    texts = [text for text in found if len(text.split()) >= 3] or [" ".join(reference.split())]
    return [
        {"id": f"p{number}", "means": text, "statements": [text]}
        for number, text in enumerate(texts[: MOST["points"]], start=1)
    ]


def _complete(values: Json) -> Content:
    """The content with its rubric in full form and a probe for every point."""
    try:
        rubric = Rubric.from_dict({key: values[key] for key in ("points", "misconceptions")}).to_dict()
    except RubricError as error:
        raise ContentRefused([Fault(error.path, error.problem)]) from error
    known = {probe["point"] for probe in values["probes"]}
    ids = [point["id"] for point in rubric["points"]]
    faults = [
        Fault(f"probes[{i}].point", f"no point {probe['point']!r}; the points are {', '.join(ids)}")
        for i, probe in enumerate(values["probes"])
        if probe["point"] not in ids
    ]
    if faults:
        raise ContentRefused(faults)
    asked = [{"point": id, "ask": PROBE} for id in ids if id not in known]
    return Content(**{**values, **rubric, "probes": [*values["probes"], *asked]})


def _check_names(values: Json, topics: Collection[str], faults: list[Fault]) -> None:
    values["topic"] = values["topic"] or OTHER_TOPIC
    values["level"] = values["level"] or "mid"
    if not UID.fullmatch(values["uid"]):
        faults.append(Fault("uid", "1 to 80 characters without spaces are wanted"))
    if values["topic"] not in topics:
        faults.append(Fault("topic", f"no topic {values['topic']!r}; there are {', '.join(sorted(topics))}"))
    if values["level"] not in LEVELS:
        faults.append(Fault("level", f"{values['level']!r} is none of {', '.join(LEVELS)}"))
    for key, what in (("prompt", "the question"), ("strong", "the reference answer")):
        if is_blank(values[key]):
            faults.append(Fault(key, f"{what} is empty"))
    for key, limit in LIMITS.items():
        if len(values[key]) > limit:
            faults.append(
                Fault(key, f"{len(values[key]):,} characters, and {limit:,} is the limit; nothing was cut")
            )


def _check_lists(values: Json, faults: list[Fault]) -> None:
    _records(values, "probes", ("point", "ask"), ("point", "ask"), faults)
    _records(values, "samples", ("label", "text"), ("label", "text"), faults)
    _records(values, "sources", ("title", "url", "note"), ("title",), faults)
    _records(values, "calculators", ("slug", "query", "label"), ("slug", "label"), faults)
    _records(values, "playground", ("page", "label"), ("page", "label"), faults)
    for key in ("points", "misconceptions"):
        _check_parts(values, key, faults)
    size = len(json.dumps([values["points"], values["misconceptions"]]))
    if size > LARGEST_RUBRIC:
        faults.append(Fault("points", f"{size:,} characters in all, and {LARGEST_RUBRIC:,} is the limit"))
    _allowed(values, "samples", "label", SAMPLE_LABELS, faults)
    _allowed(values, "calculators", "slug", CALCULATORS, faults)
    _allowed(values, "playground", "page", PLAYGROUND_PAGES, faults)
    for i, source in enumerate(values["sources"]):
        if isinstance(source, dict) and source.get("url") and not str(source["url"]).startswith("https://"):
            faults.append(Fault(f"sources[{i}].url", "an address that starts with https:// is wanted"))


def _check_parts(values: Json, key: str, faults: list[Fault]) -> None:
    """How much one point or misconception may hold; what each part must be, the rubric says."""
    for i, part in enumerate(part for part in values[key] if isinstance(part, dict)):
        for name, most in MOST_INSIDE.items():
            inside = part.get(name)
            if isinstance(inside, list) and len(inside) > most:
                faults.append(Fault(f"{key}[{i}].{name}", f"{len(inside)} of them, and {most} is the limit"))
        weight = part.get("weight")
        if isinstance(weight, int | float) and weight > LARGEST_WEIGHT:
            faults.append(Fault(f"{key}[{i}].weight", f"{LARGEST_WEIGHT} is the limit"))


def _records(
    values: Json, key: str, fields: tuple[str, ...], needed: tuple[str, ...], faults: list[Fault]
) -> None:
    """Each item of a list is an object of texts with these fields."""
    records = []
    for i, item in enumerate(values[key]):
        if not isinstance(item, dict) or not all(isinstance(value, str) for value in item.values()):
            faults.append(Fault(f"{key}[{i}]", f"an object of texts is wanted: {', '.join(fields)}"))
            continue
        unknown = [name for name in item if name not in fields]
        if unknown:
            faults.append(Fault(f"{key}[{i}].{unknown[0]}", f"unknown; the fields are {', '.join(fields)}"))
        for name in needed:
            if is_blank(item.get(name, "")):
                faults.append(Fault(f"{key}[{i}].{name}", "the text is empty"))
        if any(len(value) > LONGEST_TEXT for value in item.values()):
            faults.append(Fault(f"{key}[{i}]", f"a text is longer than {LONGEST_TEXT:,} characters"))
        records.append({name: item.get(name, "").strip() for name in fields})
    values[key] = records


def _allowed(values: Json, key: str, name: str, allowed: Collection[str], faults: list[Fault]) -> None:
    for i, item in enumerate(values[key]):
        if item[name] and item[name] not in allowed:
            faults.append(Fault(f"{key}[{i}].{name}", f"{item[name]!r} is none of {', '.join(allowed)}"))


def _text(data: Json, key: str, faults: list[Fault]) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        faults.append(Fault(key, f"text is wanted, got {type(value).__name__}"))
        return ""
    return value.strip()


def _list(data: Json, key: str, most: int, faults: list[Fault]) -> list[Any]:
    value = data.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        faults.append(Fault(key, f"a list is wanted, got {type(value).__name__}"))
        return []
    if len(value) > most:
        faults.append(Fault(key, f"{len(value)} of them, and {most} is the limit"))
    return value


def _first_words(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= 80 else f"{line[:79].rsplit(' ', 1)[0]}…"
