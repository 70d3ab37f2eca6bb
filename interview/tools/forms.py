"""The form of the tools page."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.plain_text import is_blank, storable
from interview.runs.kinds import InputRefused
from interview.tools.kind import PROMPT, ROUNDS, check
from interview.tools.registry import tools

SAMPLE = "Please refund 12.50 EUR (1250 cents) for my order AB-3456."
MOST = 6


class ToolsForm(forms.Form):
    """A request, the tools it may use, and the caps."""

    prompt = forms.CharField(
        max_length=PROMPT,
        strip=False,
        initial=SAMPLE,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What you want done, in your own words.",
    )
    allowed = forms.MultipleChoiceField(
        label="Tools it may call",
        widget=forms.CheckboxSelectMultiple,
        initial=["convert", "refund"],
        help_text=f"{MOST} at most. Every declaration costs prompt tokens.",
    )
    rounds = forms.IntegerField(
        min_value=1, max_value=ROUNDS, initial=3, help_text="After this many it ends."
    )
    temperature = forms.FloatField(min_value=0, max_value=5, initial=0)
    seed = forms.IntegerField(min_value=0, max_value=2**53, initial=1, required=False)
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(name, tool.title) for name, tool in tools().items()]
        allowed: Any = self.fields["allowed"]
        allowed.choices = sorted(choices, key=lambda choice: choice[0].startswith("calculate"))

    def clean_prompt(self) -> str:
        prompt = storable(self.cleaned_data["prompt"])
        if is_blank(prompt):
            raise forms.ValidationError("Write what you want: this holds nothing that can be seen.")
        return prompt

    def clean_allowed(self) -> list[str]:
        allowed: list[str] = self.cleaned_data["allowed"]
        if len(allowed) > MOST:
            raise forms.ValidationError(f"{len(allowed)} tools; {MOST} is the limit.")
        return allowed

    def clean(self) -> dict[str, Any]:
        """What only the whole request shows, such as its size with the declarations, is told here too."""
        data = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                self.request_body()
            except InputRefused as refusal:
                self.add_error("prompt", str(refusal))
        return data

    def request_body(self) -> dict[str, Any]:
        """The run's input."""
        data = self.cleaned_data
        sampling = {"temperature": data["temperature"], "seed": 1 if data["seed"] is None else data["seed"]}
        messages = [{"role": "user", "content": data["prompt"]}]
        return check(
            {"messages": messages, "allowed": data["allowed"], "rounds": data["rounds"], "sampling": sampling}
        )


def form_values(body: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored run."""
    sampling = body["sampling"]
    return {
        "prompt": body["own_words"],
        "allowed": body["allowed"],
        "rounds": body["rounds"],
        "temperature": sampling.get("temperature", 0),
        "seed": sampling.get("seed", 1),
    }
