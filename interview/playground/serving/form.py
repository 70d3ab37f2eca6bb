"""How much load, of what kind."""

from __future__ import annotations

from typing import Any

from django import forms

MOST_CLIENTS, MOST_REQUESTS, MOST_TOKENS = 16, 32, 1600
STARTS = [
    ("distinct", "every prompt is different"),
    ("shared", "all prompts begin alike"),
    ("quotes", "prompts that the answer repeats"),
]
DRAFTS = [("off", "off"), ("auto", "on, paused where it doesn't pay")]


class ServingForm(forms.Form):
    """A bounded load against this machine's own engine."""

    concurrency = forms.IntegerField(
        label="Clients at once",
        min_value=1,
        max_value=MOST_CLIENTS,
        initial=8,
        widget=forms.NumberInput(attrs={"type": "range", "min": 1, "max": MOST_CLIENTS, "step": 1}),
        help_text="Each sends its next request when its last is done.",
    )
    requests = forms.IntegerField(
        min_value=1, max_value=MOST_REQUESTS, initial=16, help_text="In all, shared by the clients."
    )
    prompt_tokens = forms.IntegerField(label="Prompt tokens", min_value=8, max_value=512, initial=96)
    output_tokens = forms.IntegerField(
        label="Answer tokens",
        min_value=2,
        max_value=96,
        initial=32,
        help_text="Answers go on to this length: the end token is forbidden.",
    )
    start = forms.ChoiceField(
        label="Prompts",
        choices=STARTS,
        initial="distinct",
        help_text="A beginning that was read before comes from the prefix cache, in whole chunks of 128 tokens.",
    )
    speculation = forms.ChoiceField(label="Drafts from the prompt", choices=DRAFTS, initial="off")
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors and data["requests"] * data["output_tokens"] > MOST_TOKENS:
            total = data["requests"] * data["output_tokens"]
            self.add_error(
                "requests",
                f"{data['requests']} answers of {data['output_tokens']} are {total} tokens; {MOST_TOKENS} is the limit. Lower one.",
            )
        return data

    def request_body(self) -> dict[str, Any]:
        """The run's input."""
        return {name: self.cleaned_data[name] for name in self.fields if name != "idempotency_key"}
