"""The author's form: a head, points, misconceptions, samples. It writes a `Content` and shows its faults in place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms import BaseFormSet, formset_factory

from interview.questions import notation
from interview.questions.content import LIMITS, MOST, Content, ContentRefused, Fault, content_from
from interview.questions.loader import LEVELS, SAMPLE_LABELS
from interview.questions.models import OTHER_TOPIC, Topic

SOURCE = ("title", "url", "note")
CALCULATOR = ("slug", "query", "label")
PLAYGROUND = ("page", "label")
LISTS = {"sources": SOURCE, "calculators": CALCULATOR, "playground": PLAYGROUND}


def _area(rows: int, *, required: bool = False, label: str, help_text: str = "") -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(required=required, strip=False, widget=widget, label=label, help_text=help_text)


class HeadForm(forms.Form):
    """What is asked, the reference, and where it belongs."""

    title = forms.CharField(
        required=False, max_length=LIMITS["title"], help_text="Left empty: the question’s first words."
    )
    topic = forms.ChoiceField()
    level = forms.ChoiceField(choices=[(level, level) for level in LEVELS], initial="mid")
    prompt = _area(
        5, required=True, label="Question", help_text="Markdown; formulas between dollar signs: $n^2$."
    )
    strong = _area(
        7, required=True, label="Reference answer", help_text="Learners see it after their own answer."
    )
    weak = _area(3, label="A weak answer")
    weak_wrong = _area(3, label="What is wrong with it")
    sources = _area(2, label="Sources", help_text="One a line: title | https://… | note")
    calculators = _area(
        2, label="Calculators", help_text="One a line: kv-cache | tokens=4096 | what it shows"
    )
    playground = _area(2, label="Playground pages", help_text="One a line: next-token | what it shows")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        served = Topic.objects.filter(retired__isnull=True).values_list("id", "title")
        self.fields["topic"].choices = [(OTHER_TOPIC, "Anything else"), *served]  # type: ignore[attr-defined]


class PointForm(forms.Form):
    """One idea a good answer holds. An empty meaning is no point."""

    key = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)
    means = forms.CharField(
        required=False, strip=True, max_length=1000, label="What it means", widget=forms.Textarea({"rows": 2})
    )
    weight = forms.FloatField(required=False, min_value=0.01, max_value=100, initial=1)
    optional = forms.BooleanField(required=False, label="Extra: leaving it out costs nothing")
    statements = _area(3, label="Other wordings", help_text="One a line, said as a learner would.")
    anchors = _area(
        2, label="Words it needs", help_text="A line a group: one word or phrase of each must be there."
    )
    numbers = _area(1, label="Numbers", help_text=f"One a line: {notation.HOW}")
    probes = _area(2, label="Follow-up when it is missing", help_text="One a line; must not give it away.")


class MisconceptionForm(forms.Form):
    """A wrong belief and what is right. Empty wordings are none."""

    key = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)
    statements = _area(2, label="How people say it", help_text="One wording a line.")
    right = _area(2, label="What is right")
    points = forms.CharField(
        required=False, max_length=400, label="Contradicts point", help_text="Numbers of points: 1, 3"
    )
    penalty = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        initial=0.25,
        label="Costs",
        help_text="A share of the score.",
    )


class SampleForm(forms.Form):
    """An answer to try the rubric with, and what it should come out as."""

    label = forms.ChoiceField(choices=[(label, label.replace("_", " ")) for label in SAMPLE_LABELS])
    text = _area(3, label="Answer")


PointSet: Any = formset_factory(PointForm, extra=0, max_num=MOST["points"], absolute_max=MOST["points"])
MisconceptionSet: Any = formset_factory(
    MisconceptionForm, extra=0, max_num=MOST["misconceptions"], absolute_max=MOST["misconceptions"]
)
SampleSet: Any = formset_factory(SampleForm, extra=0, max_num=MOST["samples"], absolute_max=MOST["samples"])
SETS = {"points": PointSet, "misconceptions": MisconceptionSet, "samples": SampleSet}
BLANK = {"points": 3, "misconceptions": 1, "samples": 2}


class QuestionForm:
    """All parts of the author's form together."""

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        content: Content | None = None,
        more: str = "",
    ) -> None:
        self.bound = data is not None
        self.uid = content.uid if content else ""
        self.faults: list[Fault] = []
        initial = form_values(content) if content else {"points": [], "misconceptions": [], "samples": []}
        self.head = (
            HeadForm(data, initial=initial, prefix="q") if data else HeadForm(initial=initial, prefix="q")
        )
        self.sets: dict[str, BaseFormSet[Any]] = {}
        for name, kind in SETS.items():
            if data is not None:
                self.sets[name] = kind(_with_more(data, name, more), prefix=name)
            else:
                blank: list[dict[str, Any]] = [{}] * (
                    BLANK[name] if not initial[name] or name != "points" else 1
                )
                self.sets[name] = kind(initial=[*initial[name], *blank][: MOST[name]], prefix=name)

    @property
    def points(self) -> BaseFormSet[Any]:
        return self.sets["points"]

    @property
    def misconceptions(self) -> BaseFormSet[Any]:
        return self.sets["misconceptions"]

    @property
    def samples(self) -> BaseFormSet[Any]:
        return self.sets["samples"]

    def content(self, *, uid: str, topics: set[str]) -> Content | None:
        """What the form says, or None with its faults shown where they are."""
        forms_valid = [self.head.is_valid(), *(part.is_valid() for part in self.sets.values())]
        if not all(forms_valid):
            return None
        try:
            return content_from({**self._fields(), "uid": uid}, topics=topics)
        except ContentRefused as refused:
            for fault in refused.faults:
                self._show(fault)
            return None

    def _fields(self) -> dict[str, Any]:
        """The parts as plain data; a line that can't be read becomes an error on its field."""
        head = dict(self.head.cleaned_data)
        faults: list[Fault] = []
        for name, names in LISTS.items():
            head[name] = _read(
                head[name], lambda line, names=names: notation.link_from(line, names), name, faults
            )
        self._kept = [form for form in self.points.forms if form.cleaned_data.get("means")]
        points = _unique([_point(form, number) for number, form in enumerate(self._kept, start=1)], "p")
        probes = [
            {"point": point["id"], "ask": ask}
            for point, form in zip(points, self._kept, strict=True)
            for ask in notation.lines(form.cleaned_data["probes"])
        ]
        wrong = self._misconceptions([point["id"] for point in points], faults)
        samples = [
            form.cleaned_data for form in self.samples.forms if form.cleaned_data.get("text", "").strip()
        ]
        for i, form in enumerate(self._kept):
            faults += [Fault(f"points[{i}].numbers", why) for why in form.unread]
        if faults:
            raise ContentRefused(faults)
        return {**head, "points": points, "probes": probes, "misconceptions": wrong, "samples": samples}

    def _misconceptions(self, ids: list[str], faults: list[Fault]) -> list[dict[str, Any]]:
        found = []
        self._kept_wrong = [
            form for form in self.misconceptions.forms if form.cleaned_data.get("statements", "").strip()
        ]
        for i, form in enumerate(self._kept_wrong):
            data = form.cleaned_data
            item: dict[str, Any] = {
                "id": data["key"] or f"m{i + 1}",
                "statements": notation.lines(data["statements"]),
                "right": data["right"],
                "points": _named(data["points"], ids, f"misconceptions[{i}].points", faults),
            }
            if data["penalty"] is not None:
                item["penalty"] = data["penalty"]
            found.append(item)
        return _unique(found, "m")

    def _show(self, fault: Fault) -> None:
        """Put a fault on the field it belongs to, or above the form."""
        path = re.match(r"(\w+)(?:\[(\d+)\])?(?:\.(\w+))?", fault.where)
        name, index, part = path.groups() if path else ("", None, None)
        kept = {"points": getattr(self, "_kept", []), "misconceptions": getattr(self, "_kept_wrong", [])}
        if name in self.head.fields:
            self.head.add_error(name, fault.problem)
        elif name in kept and index is not None and int(index) < len(kept[name]):
            form = kept[name][int(index)]
            form.add_error(part if part in form.fields else None, fault.problem)
        else:
            self.faults.append(fault)


def _with_more(data: Mapping[str, Any], name: str, more: str) -> dict[str, Any]:
    """The sent form with one more empty part when its “add” button was pressed."""
    flat = {key: data[key] for key in data}
    if more == name:
        total = flat.get(f"{name}-TOTAL_FORMS", "0")
        flat[f"{name}-TOTAL_FORMS"] = str(int(total) + 1) if str(total).isdigit() else total
    return flat


def _read(text: str, read: Any, where: str, faults: list[Fault]) -> list[Any]:
    found = []
    for line in notation.lines(text):
        try:
            found.append(read(line))
        except ValueError as error:
            faults.append(Fault(where, str(error)))
    return found


def _point(form: Any, number: int) -> dict[str, Any]:
    data = form.cleaned_data
    faults: list[Fault] = []
    point: dict[str, Any] = {
        "id": data["key"] or f"p{number}",
        "means": data["means"],
        "statements": notation.lines(data["statements"]) or [data["means"]],
        "anchors": [notation.words(line) for line in notation.lines(data["anchors"])],
        "numbers": _read(data["numbers"], notation.number_from, "numbers", faults),
        "optional": data["optional"],
    }
    if data["weight"] is not None:
        point["weight"] = data["weight"]
    form.unread = [fault.problem for fault in faults]
    return point


def _unique(items: list[dict[str, Any]], letter: str) -> list[dict[str, Any]]:
    """Ids that were made up must not meet ids that were there."""
    taken: set[str] = set()
    for item in items:
        number = len(taken) + 1
        while item["id"] in taken:
            number += 1
            item["id"] = f"{letter}{number}"
        taken.add(item["id"])
    return items


def _named(text: str, ids: list[str], where: str, faults: list[Fault]) -> list[str]:
    names = []
    for word in notation.words(text):
        if word.isdigit() and 1 <= int(word) <= len(ids):
            names.append(ids[int(word) - 1])
        else:
            faults.append(Fault(where, f"there is no point {word}; there are 1 to {len(ids)}"))
    return names


def form_values(content: Content) -> dict[str, Any]:
    """What the form shows for a question."""
    ids = [point["id"] for point in content.points]
    data = content.to_dict()
    for name, names in LISTS.items():
        data[name] = "\n".join(notation.link_line(record, names) for record in data[name])
    return {
        **data,
        "points": [_point_values(point, content) for point in content.points],
        "misconceptions": [
            {
                "key": item["id"],
                "statements": "\n".join(item["statements"]),
                "right": item["right"],
                "points": ", ".join(str(ids.index(name) + 1) for name in item["points"]),
                "penalty": item["penalty"],
            }
            for item in content.misconceptions
        ],
        "samples": content.samples,
    }


def _point_values(point: dict[str, Any], content: Content) -> dict[str, Any]:
    return {
        "key": point["id"],
        "means": point["means"],
        "weight": point["weight"],
        "optional": point["optional"],
        "statements": "\n".join(point["statements"]),
        "anchors": "\n".join(notation.joined(group) for group in point["anchors"]),
        "numbers": "\n".join(notation.number_line(number) for number in point["numbers"]),
        "probes": "\n".join(probe["ask"] for probe in content.probes if probe["point"] == point["id"]),
    }
