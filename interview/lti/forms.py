"""What is filled in about a platform, and where a launch goes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from interview.accounts.forms import NameField, PlainForm
from interview.lti.http import may_ask
from interview.lti.models import KINDS
from interview.teaching.models import Assignment, Classroom

NEW_CLASS = "new"


class AddressField(forms.CharField):
    """An address of a platform, on a host that this site may ask."""

    def __init__(self, **kwargs: Any) -> None:
        attributes = {"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}
        super().__init__(max_length=500, widget=forms.TextInput(attrs=attributes), **kwargs)

    def clean(self, value: Any) -> str:
        cleaned: str = super().clean(value)
        if cleaned and not may_ask(cleaned):
            hosts = ", ".join(settings.LTI_HOSTS)
            scheme = "https://" if settings.HTTPS else "https:// or http://"
            raise ValidationError(
                f"Give an address that begins with {scheme} on one of the hosts this site may ask: {hosts}."
            )
        return cleaned


class PlatformForm(PlainForm):
    """A platform that is about to be registered."""

    name = NameField(max_length=120, label="Name", help_text="What your school calls it.")
    kind = forms.ChoiceField(label="What it is", choices=KINDS)
    address = AddressField(label="Its address", help_text="Such as https://moodle.example.org")


class PlatformDetailsForm(PlainForm):
    """What the platform told about itself."""

    name = NameField(max_length=120, label="Name")
    client_id = NameField(
        max_length=200,
        label="Client id",
        help_text="The platform shows it once this tool is registered there.",
    )
    deployments = forms.CharField(
        max_length=5_000,
        label="Deployment ids",
        help_text="One a line. Launches from any other deployment are refused.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "autocomplete": "off"}),
    )
    issuer = NameField(max_length=300, label="Issuer")
    login_url = AddressField(label="Authentication request URL")
    token_url = AddressField(label="Access token URL")
    keys_url = AddressField(label="Public key set URL")

    def clean_deployments(self) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data["deployments"].splitlines()]
        found = list(dict.fromkeys(line for line in lines if line))
        if len(found) > 100 or any(len(line) > 255 for line in found):
            raise ValidationError("At most 100 deployment ids of 255 characters.")
        return found


class ClassChoiceForm(PlainForm):
    """Which class a course is."""

    classroom = forms.ChoiceField(label="This course is", widget=forms.RadioSelect)

    def __init__(self, *args: Any, classes: list[Classroom], title: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.classes = {str(row.pk): row for row in classes}
        field = self.fields["classroom"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [
            (NEW_CLASS, f"a new class, “{title}”"),
            *((key, row.name) for key, row in self.classes.items()),
        ]
        field.initial = NEW_CLASS

    @property
    def chosen(self) -> Classroom | None:
        """The class that was chosen; None for a new one."""
        return self.classes.get(self.cleaned_data["classroom"])


class AssignmentChoiceForm(PlainForm):
    """Which assignment a link opens."""

    assignment = forms.ChoiceField(label="The link opens", widget=forms.RadioSelect)

    def __init__(self, *args: Any, assignments: list[Assignment], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.assignments = {str(row.pk): row for row in assignments}
        field = self.fields["assignment"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(key, row.title) for key, row in self.assignments.items()]

    @property
    def chosen(self) -> Assignment:
        return self.assignments[self.cleaned_data["assignment"]]
