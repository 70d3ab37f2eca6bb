"""A text and a layer to look into."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.plain_text import is_blank, storable
from interview.runs.fits import served_model, size_fault

PROMPT_LIMIT = 1000
LONGEST = 64  # tokens
DEFAULT = "The animal didn't cross the street because it was too tired."


class AttentionForm(forms.Form):
    """What the model reads, and which layer shows its heads."""

    prompt = forms.CharField(
        label="Text",
        max_length=PROMPT_LIMIT,
        strip=False,
        initial=DEFAULT,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"}),
        help_text=f"At most {LONGEST} tokens, so that every weight can be seen.",
    )
    layer = forms.IntegerField(
        min_value=0,
        max_value=999,
        initial=8,
        help_text="Counted from 0. Early layers look nearby, middle ones gather, many heads rest on the first token.",
    )
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def clean_prompt(self) -> str:
        prompt: str = self.cleaned_data["prompt"]
        if is_blank(prompt):
            raise forms.ValidationError("Write a text: this one holds nothing that can be seen.")
        if fault := size_fault({"prompt": storable(prompt)}, most=LONGEST):
            raise forms.ValidationError(fault)
        return storable(prompt)

    def clean_layer(self) -> int:
        layer: int = self.cleaned_data["layer"]
        if fault := layer_fault(layer):
            raise forms.ValidationError(fault)
        return layer

    def request_body(self) -> dict[str, Any]:
        """The run's input."""
        return {"prompt": self.cleaned_data["prompt"], "layer": self.cleaned_data["layer"]}


def layer_fault(layer: int) -> str:
    """What is wrong with a layer that the served model hasn't got; nothing where only the worker can tell."""
    model = served_model()
    if model is None or layer < model.layers:
        return ""
    return f"There is no layer {layer}: this model has layers 0 to {model.layers - 1}."
