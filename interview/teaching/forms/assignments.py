"""What is filled in about an assignment."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from interview.accounts.forms import NameField, PlainForm
from interview.calculators.formulas.parameters import InputErrors
from interview.calculators.formulas.registry import CALCULATORS
from interview.calculators.selectors import checked_link
from interview.teaching.dates import SkippedHour, moment, wall_clock
from interview.teaching.forms.classes import StorableField
from interview.teaching.forms.shared import SharedEdit
from interview.teaching.models import Assignment, Membership, QuestionSet
from interview.teaching.models.assignments import COUNTING, FEEDBACK, ORDERS

MINUTES = 60 * 24 * 14
FILE_BYTES = 10_000_000
SHOWN = "%Y-%m-%dT%H:%M"


class WallClockField(forms.CharField):
    """A date and time as a clock in the class's zone shows it; becomes a moment in the form's `clean`."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=SHOWN)
        super().__init__(widget=widget, **kwargs)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            wall = datetime.fromisoformat(text.strip().replace(" ", "T"))
        except ValueError as error:
            raise ValidationError("Give a date and a time, such as 2027-03-29 23:59.") from error
        if wall.tzinfo is not None or not 2000 <= wall.year <= 2200:
            raise ValidationError("Give a date and a time of the class's zone, such as 2027-03-29 23:59.")
        return wall.replace(microsecond=0)


def _optional_number(label: str, least: int, most: int, help_text: str = "") -> forms.IntegerField:
    return forms.IntegerField(
        required=False, min_value=least, max_value=most, label=label, help_text=help_text
    )


class AssignmentForm(PlainForm):
    """Dates and rules. What is wrong with one field says so there; nothing typed is lost."""

    title = NameField(max_length=120, label="Title", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    instructions = StorableField(
        required=False, max_length=20_000, label="Instructions", widget=forms.Textarea(attrs={"rows": 3})
    )
    opens = WallClockField(label="Opens")
    due = WallClockField(label="Due")
    late_until = WallClockField(
        required=False,
        label="Accepted late until",
        help_text="Empty: nothing is accepted after the due date.",
    )
    late_hours_1 = _optional_number("Late by up to, in hours", 1, 10_000)
    late_percent_1 = _optional_number("counts, in percent", 0, 100)
    late_hours_2 = _optional_number("then by up to, in hours", 1, 10_000)
    late_percent_2 = _optional_number("counts, in percent", 0, 100)
    late_credit = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=100,
        label="Later than that counts, in percent",
        help_text="0 means: accepted and assessed, but worth nothing.",
    )
    attempts = _optional_number("Attempts", 1, 1_000, "Empty: as many as they like.")
    counting = forms.ChoiceField(choices=COUNTING, label="What counts")
    time_limit_minutes = _optional_number(
        "Time limit in minutes", 1, MINUTES, "Runs from the start of an attempt. Empty: none."
    )
    feedback = forms.ChoiceField(choices=FEEDBACK, label="Learners see")
    order = forms.ChoiceField(choices=ORDERS, label="Order of questions")

    LATE = ("late_hours_1", "late_percent_1", "late_hours_2", "late_percent_2", "late_credit")

    def __init__(self, *args: Any, zone: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = zone

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        for name in ("opens", "due", "late_until"):
            if data.get(name) is not None:
                self._to_moment(name)
        if data.get("opens") and data.get("due") and data["due"] <= data["opens"]:
            self.add_error("due", "The due date must be after the opening.")
        if data.get("due") and data.get("late_until") and data["late_until"] <= data["due"]:
            self.add_error("late_until", "This must be after the due date, or empty.")
        self._late()
        return data

    def _to_moment(self, name: str) -> None:
        try:
            self.cleaned_data[name] = moment(self.cleaned_data[name], self.zone)
        except SkippedHour as error:
            self.add_error(name, str(error))

    def _late(self) -> None:
        data = self.cleaned_data
        steps = []
        for number in ("1", "2"):
            hours, percent = data.pop(f"late_hours_{number}", None), data.pop(f"late_percent_{number}", None)
            if (hours is None) != (percent is None):
                self.add_error(f"late_hours_{number}", "Give both the hours and the percent, or neither.")
            elif hours is not None:
                steps.append({"hours": hours, "credit": percent})
        if len(steps) == 2 and steps[1]["hours"] <= steps[0]["hours"]:
            self.add_error("late_hours_2", "The second step must be later than the first.")
        asked = bool(steps) or data.get("late_credit") not in (None, 100)
        if asked and not data.get("late_until") and "late_until" not in self.errors:
            self.add_error("late_until", "Say until when late work is accepted; without that none is.")
        data["late_steps"] = steps
        data["late_credit"] = 100 if data.get("late_credit") is None else data["late_credit"]


class AssignmentEditForm(SharedEdit, AssignmentForm):
    """The same for an assignment that is there, which two teachers may change at once."""


class AssignForm(AssignmentForm):
    """The same, with the set it is made from."""

    source = forms.ModelChoiceField(queryset=QuestionSet.objects.none(), label="Question set")
    field_order = ["source", "title"]

    def __init__(self, *args: Any, sets: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source = self.fields["source"]
        assert isinstance(source, forms.ModelChoiceField)
        source.queryset = sets
        self.fields["title"].required = False
        self.fields["title"].help_text = "Empty: the set's title."

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if not data.get("title") and data.get("source"):
            data["title"] = data["source"].title
        return data


def as_initial(assignment: Assignment, zone: str) -> dict[str, Any]:
    """An assignment as its form shows it."""
    initial: dict[str, Any] = {
        name: getattr(assignment, name)
        for name in (
            "title",
            "instructions",
            "late_credit",
            "attempts",
            "counting",
            "time_limit_minutes",
            "feedback",
            "order",
        )
    }
    for name in ("opens", "due", "late_until"):
        at = getattr(assignment, name)
        initial[name] = wall_clock(at, zone).strftime(SHOWN) if at else ""
    for number, step in enumerate(assignment.late_steps[:2], start=1):
        initial[f"late_hours_{number}"], initial[f"late_percent_{number}"] = step["hours"], step["credit"]
    return initial


class ExtensionForm(PlainForm):
    """Later dates for one learner: so many days, or until a moment."""

    learner = forms.TypedChoiceField(coerce=int, label="Learner")
    days = _optional_number("Days later", 0, 365, "Same hour, also when the clocks change.")
    until = WallClockField(required=False, label="or due at")
    extra_attempts = _optional_number("More attempts", 0, 100)
    extra_time_percent = _optional_number("More time, in percent", 0, 400)
    reason = NameField(required=False, max_length=300, label="Reason")

    def __init__(self, *args: Any, learners: Iterable[Membership], zone: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = zone
        field = self.fields["learner"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = [(seat.owner_id, seat.shown_name) for seat in learners]

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("until") is not None:
            try:
                data["until"] = moment(data["until"], self.zone)
            except SkippedHour as error:
                self.add_error("until", str(error))
        return data


class AttachmentForm(PlainForm):
    """A calculator or a document."""

    calculator = forms.ChoiceField(required=False, label="Calculator")
    query = forms.CharField(
        required=False,
        max_length=1_500,
        label="Its inputs",
        help_text="The part of a calculator's address after the question mark. Empty: its defaults.",
    )
    file = forms.FileField(required=False, label="or a document", help_text="Up to 10 MB.")
    label = NameField(required=False, max_length=120, label="Name")
    required = forms.BooleanField(required=False, label="Must be opened before an attempt is handed in")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["calculator"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "none"), *((slug, item.title) for slug, item in CALCULATORS.items())]

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        file, slug = data.get("file"), data.get("calculator")
        if file is not None and file.size > FILE_BYTES:
            self.add_error("file", "The document is larger than 10 MB.")
        if bool(file) == bool(slug) and not self.errors:
            self.add_error("calculator", "Choose a calculator or a document, one of the two.")
        query = str(data.get("query", "")).partition("?")[2] or str(data.get("query", ""))
        data["path"] = self._calculator(slug, query) if slug else ""
        if not data.get("label") and slug:
            data["label"] = CALCULATORS[slug].title
        if not data.get("label") and file is not None:
            data["label"] = str(file.name)[:120]
        return data

    def _calculator(self, slug: str, query: str) -> str:
        """The calculator's canonical link; what it can't read is named beside the inputs."""
        try:
            return checked_link(slug, query).path
        except InputErrors as wrong:
            for one in wrong.errors:
                self.add_error("query", f"{one.name} {one.message}")
            return ""
