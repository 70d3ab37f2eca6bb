"""What is pinned: a few prompts and one configuration."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.plain_text import is_blank, storable
from interview.playground.sampling_form import real, whole
from interview.runs.fits import size_fault

MOST_PROMPTS, LONGEST_PROMPT, TOTAL = 6, 500, 60
EXAMPLE = "What is 2 + 2? Answer with the number.\nName the capital of France.\nIs a whale a fish? Answer yes or no."


class PinForm(forms.Form):
    """A pin: it is kept as it is."""

    name = forms.CharField(max_length=80, initial="Short answers")
    prompts = forms.CharField(
        max_length=MOST_PROMPTS * LONGEST_PROMPT,
        initial=EXAMPLE,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=f"One a line, {MOST_PROMPTS} at most, {LONGEST_PROMPT} characters each; sent as user messages.",
    )
    temperature = real("Temperature", 0.7, 0, 5, "Of the trials; the pinned replays include a greedy one.")
    top_p = real("Top-p", 0.9, 0.01, 1, "1 is off.")
    max_tokens = whole("Max tokens", 16, 1, 64, "Of each answer.")
    trials = whole("Trials of each prompt", 8, 4, 20, "With new seeds in every run: they measure the noise.")

    def clean_name(self) -> str:
        name: str = storable(self.cleaned_data["name"])
        if is_blank(name):
            raise forms.ValidationError("Give it a name that can be seen.")
        return name

    def clean_prompts(self) -> list[str]:
        lines = [
            line.strip() for line in storable(self.cleaned_data["prompts"]).split("\n") if not is_blank(line)
        ]
        if not lines:
            raise forms.ValidationError("Write at least one prompt that can be seen.")
        if len(lines) > MOST_PROMPTS or max(map(len, lines)) > LONGEST_PROMPT:
            raise forms.ValidationError(f"At most {MOST_PROMPTS} prompts of {LONGEST_PROMPT} characters.")
        for line in lines:
            if fault := size_fault({"messages": [{"role": "user", "content": line}]}):
                raise forms.ValidationError(f"“{line[:40]}”: {fault}")
        return lines

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for name, field in self.fields.items():
            if name in data and data[name] is None:
                data[name] = field.initial
        if not self.errors and len(data["prompts"]) * data["trials"] > TOTAL:
            self.add_error(
                "trials",
                f"{len(data['prompts'])} prompts of {data['trials']} trials; {TOTAL} answers are the limit.",
            )
        return data

    def body(self) -> dict[str, Any]:
        """What is pinned."""
        data = self.cleaned_data
        sampling = {name: data[name] for name in ("temperature", "top_p", "max_tokens")}
        return {"prompts": data["prompts"], "sampling": sampling, "trials": data["trials"]}
