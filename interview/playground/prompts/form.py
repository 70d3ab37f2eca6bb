"""Forms of the prompt library."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.plain_text import is_blank, storable
from interview.playground.models import PromptVersion
from interview.playground.prompts.templates import LONGEST_VALUE, TemplateRefused, rendered, variables
from interview.playground.sampling_form import real, whole
from interview.runs.fits import size_fault

EXAMPLE_SYSTEM = "You answer in {{ language }}, in one short paragraph."
EXAMPLE_BODY = """{% if context %}Use these notes:
{% for line in context|lines %}- {{ line }}
{% endfor %}
{% endif %}Explain {{ topic }} to {{ audience|default("a new colleague") }}."""


class VersionForm(forms.Form):
    """What a version says."""

    system = forms.CharField(
        label="System prompt",
        max_length=10_000,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "class": "num"}),
    )
    body = forms.CharField(
        label="User prompt",
        max_length=10_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 7, "spellcheck": "false", "class": "num"}),
        help_text="{{ name }} is a variable; {% if name %} … {% endif %} and {% for line in name|lines %} … {% endfor %} work too.",
    )
    note = forms.CharField(max_length=200, required=False, help_text="What changed, for yourself.")

    def clean_system(self) -> str:
        return self._checked("system")

    def clean_body(self) -> str:
        body = self._checked("body")
        if is_blank(body):
            raise forms.ValidationError("Write a prompt: this one holds nothing that can be seen.")
        return body

    def _checked(self, name: str) -> str:
        source = storable(self.cleaned_data[name])
        try:
            variables(source)
        except TemplateRefused as refused:
            raise forms.ValidationError(str(refused)) from refused
        return source


class PromptForm(VersionForm):
    """A new prompt."""

    field_order = ["name", "system", "body"]
    name = forms.CharField(max_length=80)
    note = None  # type: ignore[assignment]  # Django's way to leave a parent's field out

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if is_blank(name):
            raise forms.ValidationError("Give it a name that can be seen.")
        return name


class FillForm(forms.Form):
    """Values for a version's variables, and the few settings a first look needs."""

    temperature = real("Temperature", 0, 0, 5, "0 always takes the likeliest token.")
    max_tokens = whole("Max tokens", 96, 1, 2048, "Ends the answer after this many tokens.")
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def __init__(self, version: PromptVersion, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.version = version
        self.names = variables(version.system, version.body)
        for name in self.names:
            self.fields[f"var_{name}"] = forms.CharField(
                label=name,
                required=False,
                strip=False,
                max_length=LONGEST_VALUE,
                widget=forms.Textarea(attrs={"rows": 1}),
            )

    @property
    def variable_fields(self) -> list[forms.BoundField]:
        """The variables' own fields."""
        return [self[f"var_{name}"] for name in self.names]

    def values(self) -> dict[str, str]:
        """What was filled in; an empty variable is false for `if` and replaced by `default`."""
        return {name: storable(self.cleaned_data.get(f"var_{name}") or "") for name in self.names}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for name in ("temperature", "max_tokens"):
            if name in data and data[name] is None:
                data[name] = self.fields[name].initial
        if not self.errors:
            self._render()
        return data

    def _render(self) -> None:
        values = self.values()
        try:
            self.system = rendered(self.version.system, values)
            self.body = rendered(self.version.body, values)
        except TemplateRefused as refused:
            self.add_error(None, str(refused))
            return
        if is_blank(self.body):
            self.add_error(None, "The filled-in prompt is empty. Fill in a variable.")
        elif fault := size_fault({"messages": self._messages()}):
            self.add_error(None, fault)

    def _messages(self) -> list[dict[str, str]]:
        messages = [{"role": "user", "content": self.body}]
        if not is_blank(self.system):
            messages.insert(0, {"role": "system", "content": self.system})
        return messages

    def request_body(self) -> dict[str, Any]:
        """The run's input: what is sent, and which template it came from."""
        version = self.version
        return {
            "messages": self._messages(),
            "sampling": {
                "temperature": self.cleaned_data["temperature"],
                "max_tokens": self.cleaned_data["max_tokens"],
                "logprobs": 10,
            },
            "template": {
                "prompt": version.prompt_id,
                "name": version.prompt.name,
                "version": version.number,
                "hash": version.hash,
                "variables": self.values(),
            },
        }
