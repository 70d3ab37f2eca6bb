"""The generate form: a prompt and the decoding settings, each with a line that explains it."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.plain_text import is_blank, storable

PROMPT_LIMIT = 20_000
STOP_LIMIT = 4


class GenerateForm(forms.Form):
    """What one generation needs; `request_body` is the run's input."""

    prompt = forms.CharField(
        max_length=PROMPT_LIMIT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 5, "autocomplete": "off"}),
        help_text="Sent as one user message in the model's own chat template.",
    )
    system = forms.CharField(
        label="System prompt",
        max_length=PROMPT_LIMIT,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Comes before the prompt. Left empty, the template's own default is used.",
    )
    temperature = forms.FloatField(
        min_value=0,
        max_value=5,
        initial=0.7,
        help_text="Divides the logits: 0 always takes the likeliest token.",
    )
    top_p = forms.FloatField(
        label="Top-p",
        min_value=0,
        max_value=1,
        initial=0.9,
        help_text="Keeps the smallest set that holds this much probability.",
    )
    top_k = forms.IntegerField(
        label="Top-k",
        min_value=0,
        max_value=100_000,
        initial=0,
        help_text="Keeps this many tokens; 0 keeps all.",
    )
    max_tokens = forms.IntegerField(
        label="Max tokens",
        min_value=1,
        max_value=2048,
        initial=128,
        help_text="Ends the answer after this many tokens.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**63 - 1,
        required=False,
        help_text="Fixes the random stream; empty draws a new one.",
    )
    stop = forms.CharField(
        label="Stop strings",
        required=False,
        strip=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One a line, four at most; the answer ends before the first that appears.",
    )
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def clean_prompt(self) -> str:
        prompt: str = self.cleaned_data["prompt"]
        if is_blank(prompt):
            raise forms.ValidationError("Write a prompt: this one holds nothing that can be seen.")
        return storable(prompt)

    def clean_stop(self) -> list[str]:
        lines = [line for line in storable(self.cleaned_data["stop"]).split("\n") if line]
        if len(lines) > STOP_LIMIT:
            raise forms.ValidationError(f"{len(lines)} stop strings; {STOP_LIMIT} is the limit.")
        return lines

    def clean_top_p(self) -> float:
        top_p: float = self.cleaned_data["top_p"]
        if top_p == 0:
            raise forms.ValidationError("Top-p must be above 0, or no token is left to choose.")
        return top_p

    def request_body(self) -> dict[str, Any]:
        """The engine's request as it is stored in the run (design: the JSON of the command line)."""
        data = self.cleaned_data
        system = storable(data["system"])
        messages = [{"role": "user", "content": data["prompt"]}]
        if not is_blank(system):
            messages.insert(0, {"role": "system", "content": system})
        sampling = {name: data[name] for name in ("temperature", "top_p", "top_k", "max_tokens", "stop")}
        sampling["logprobs"] = 1  # the chosen token's own probability, drawn under each token
        if data["seed"] is not None:
            sampling["seed"] = data["seed"]
        return {"messages": messages, "sampling": sampling}


def form_values(body: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored request: the other way round of `request_body`."""
    texts = {message["role"]: message["content"] for message in body["messages"]}
    sampling = body["sampling"]
    return {
        **sampling,
        "prompt": texts.get("user", ""),
        "system": texts.get("system", ""),
        "stop": "\n".join(sampling.get("stop", [])),
    }
