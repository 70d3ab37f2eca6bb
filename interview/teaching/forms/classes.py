"""What is filled in about a class and its people."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from interview.accounts.forms import NAME_LIMIT, NameField, PlainForm, zone_choices
from interview.plain_text import storable
from interview.teaching.forms.shared import SharedEdit
from interview.teaching.models import ASSISTANT, LEARNER, TEACHER
from interview.teaching.roster_text import decoded

ROSTER_BYTES = 1_000_000


class StorableField(forms.CharField):
    """Text of several lines, made storable."""

    def clean(self, value: Any) -> str:
        cleaned: str = super().clean(storable(str(value)) if value else value)
        return cleaned


class ClassForm(PlainForm):
    """A class: its name and the zone its deadlines are in."""

    name = NameField(max_length=120, label="Name", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    time_zone = forms.ChoiceField(
        label="Time zone",
        help_text="Deadlines are set and kept in this zone, also when the clocks change.",
        error_messages={"invalid_choice": "Choose a time zone from the list."},
    )
    about = StorableField(
        required=False, max_length=2_000, label="Description", widget=forms.Textarea(attrs={"rows": 3})
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone = self.fields["time_zone"]
        assert isinstance(zone, forms.ChoiceField)
        zone.choices = zone_choices(str(self.initial.get("time_zone", "UTC")))


class ClassSettingsForm(SharedEdit, ClassForm):
    """The same, and how long answers are kept once the class is over."""

    retention_days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=3_650,
        label="Delete answers this many days after archiving",
        help_text="Empty keeps them until the class is deleted. Scores go with the answers.",
    )


class ClassDeleteForm(PlainForm):
    """The class's own name shows that deleting is meant."""

    confirm = forms.CharField(max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"}))

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expected = name
        self.fields["confirm"].label = f"Type {name} to confirm"

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"]
        if " ".join(typed.split()) != self.expected:
            raise ValidationError(f"Type {self.expected} exactly. Nothing was deleted.")
        return typed


class RosterForm(PlainForm):
    """A pasted list or a CSV file."""

    people = StorableField(
        required=False,
        max_length=ROSTER_BYTES,
        label="Paste a list",
        help_text="One person a line: an address, or name and address. CSV with a header works too.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocomplete": "off"}),
    )
    file = forms.FileField(
        required=False,
        label="or choose a CSV file",
        widget=forms.FileInput(attrs={"accept": ".csv,.txt,.tsv"}),
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        file = data.get("file")
        if file is not None and file.size > ROSTER_BYTES:
            self.add_error("file", "The file is larger than 1 MB. Send the list in parts.")
        elif file is not None:
            data["people"] = f"{decoded(file.read())}\n{data.get('people', '')}".strip("\n")
        elif not data.get("people") and not self.errors:
            self.add_error("people", "Paste a list, or choose a file.")
        return data


class LinkForm(PlainForm):
    """A join link: for whom and for how long."""

    role = forms.ChoiceField(
        label="Lets in",
        choices=[(LEARNER, "learners"), (ASSISTANT, "assistants, who grade"), (TEACHER, "teachers")],
    )
    days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=365,
        label="Days it works",
        help_text="Empty: until you revoke it. A link for staff works for 7 days unless you say otherwise.",
    )


class MemberForm(PlainForm):
    """How the roster names somebody, and their role."""

    name = NameField(required=False, max_length=NAME_LIMIT, label="Name on the roster")
    number = NameField(required=False, max_length=40, label="Number")
    role = forms.ChoiceField(
        choices=[(LEARNER, "learner"), (ASSISTANT, "assistant"), (TEACHER, "teacher")], label="Role"
    )


class CodeForm(PlainForm):
    """A join code as it was read out or copied."""

    code = forms.CharField(
        max_length=40,
        label="Join code",
        help_text="Eight letters and digits from your teacher.",
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}
        ),
    )
