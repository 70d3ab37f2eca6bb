"""The text to go on from, and the dials that decide which tokens are kept."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.calculators.formulas.sampling_steps import Settings
from interview.plain_text import is_blank, storable
from interview.playground.forms import MODES
from interview.playground.sampling_form import ORDERS
from interview.runs.fits import size_fault

PROMPT_LIMIT = 4000
LONGEST = 1024  # tokens


class TextForm(forms.Form):
    """What the model reads first."""

    prompt = forms.CharField(
        label="Text",
        max_length=PROMPT_LIMIT,
        strip=False,
        initial="A language model predicts the next",
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"}),
        help_text="The model gives a probability to every token that could come next.",
    )
    mode = forms.ChoiceField(
        label="Sent as", choices=MODES, initial="raw", required=False, widget=forms.RadioSelect
    )
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def clean_prompt(self) -> str:
        prompt: str = self.cleaned_data["prompt"]
        if is_blank(prompt):
            raise forms.ValidationError("Write a text: this one holds nothing that can be seen.")
        return storable(prompt)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and (fault := size_fault(self.request_body(), most=LONGEST)):
            self.add_error("prompt", fault)
        return data

    def request_body(self) -> dict[str, Any]:
        """The run's input."""
        prompt = self.cleaned_data["prompt"]
        if self.cleaned_data["mode"] == "chat":
            return {"messages": [{"role": "user", "content": prompt}]}
        return {"prompt": prompt}


def text_values(body: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored input."""
    if "prompt" in body:
        return {"prompt": body["prompt"], "mode": "raw"}
    return {"prompt": body["messages"][-1]["content"], "mode": "chat"}


def dial(label: str, default: float, high: float, help_text: str) -> forms.FloatField:
    """A slider."""
    widget = forms.NumberInput(attrs={"type": "range", "min": 0, "max": high, "step": 0.05})
    return forms.FloatField(
        label=label,
        min_value=0,
        max_value=high,
        initial=default,
        required=False,
        help_text=help_text,
        widget=widget,
    )


class DialForm(forms.Form):
    """The settings under which the kept set is shown and a token drawn; the neutral ones keep everything."""

    temperature = dial("Temperature", 1, 3, "0 takes the likeliest alone.")
    top_p = dial("Top-p", 1, 1, "1 is off.")
    min_p = dial("Min-p", 0, 1, "0 is off.")
    top_k = forms.IntegerField(
        label="Top-k", min_value=0, max_value=100_000, initial=0, required=False, help_text="0 keeps all."
    )
    order = forms.ChoiceField(choices=ORDERS, initial="temperature_first", required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for name, field in self.fields.items():
            if name in data and data[name] in (None, ""):
                data[name] = field.initial
        return data

    def clean_top_p(self) -> float | None:
        value: float | None = self.cleaned_data["top_p"]
        if value == 0:
            raise forms.ValidationError("Top-p must be above 0, or no token is left to choose.")
        return value

    @property
    def visible_dials(self) -> list[forms.BoundField]:
        """The sliders."""
        return [self[name] for name in ("temperature", "top_p", "min_p")]

    def settings(self) -> Settings:
        """For the sampling calculator's own steps."""
        data = self.cleaned_data
        return Settings(data["temperature"], data["top_k"], data["top_p"], data["min_p"], order=data["order"])

    def sampling(self) -> dict[str, Any]:
        """For the engine."""
        return {name: self.cleaned_data[name] for name in ("temperature", "top_k", "top_p", "min_p", "order")}


NEUTRAL = {name: field.initial for name, field in DialForm.base_fields.items()}


class StepForm(DialForm):
    """One step of the loop: a picked token, or one drawn under the dials."""

    run = forms.UUIDField()
    token = forms.IntegerField(min_value=0, max_value=2**31, required=False)
    seed = forms.IntegerField(
        min_value=0, max_value=2**63 - 1, required=False, help_text="Empty draws a new one."
    )
    idempotency_key = forms.SlugField(max_length=40)
