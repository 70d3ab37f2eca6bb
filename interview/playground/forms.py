"""The generate form: a chat or a raw prompt, with the decoding settings."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.plain_text import is_blank, storable
from interview.playground.sampling_form import SamplingForm, sampling_values
from interview.runs.fits import size_fault

PROMPT_LIMIT = 20_000
ALTERNATIVES = 10
MODES = [("chat", "chat"), ("raw", "raw prompt")]


class GenerateForm(SamplingForm):
    """What one generation needs; `request_body` is the run's input."""

    field_order = ["mode", "prompt", "system"]

    mode = forms.ChoiceField(
        label="Sent as",
        choices=MODES,
        initial="chat",
        required=False,
        widget=forms.RadioSelect,
        help_text="A chat is wrapped in the model's template; a raw prompt is continued as it stands.",
    )
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
    allow_special = forms.BooleanField(
        label="Special tokens in a raw prompt act as such",
        required=False,
        help_text="Off, <|im_start|> is ten characters of text; on, it is one token the model was trained on.",
    )
    speculate = forms.IntegerField(
        label="Draft tokens",
        min_value=0,
        max_value=64,
        required=False,
        help_text="Longest draft copied from the prompt and checked in one step; 0 is off, empty lets the engine decide.",
    )
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def clean_prompt(self) -> str:
        prompt: str = self.cleaned_data["prompt"]
        if is_blank(prompt):
            raise forms.ValidationError("Write a prompt: this one holds nothing that can be seen.")
        return storable(prompt)

    def clean(self) -> dict[str, Any]:
        """A prompt that leaves no room for an answer is told here, not by a run that fails."""
        data = super().clean()
        if not self.errors:
            fault = size_fault(self.request_body())
            if fault:
                self.add_error("prompt", fault)
        return data

    def request_body(self) -> dict[str, Any]:
        """The engine's request as it is stored in the run (design: the JSON of the command line)."""
        data = self.cleaned_data
        body: dict[str, Any] = {"sampling": {**self.sampling(), "logprobs": ALTERNATIVES}}
        if data["mode"] == "raw":
            body["prompt"] = data["prompt"]
            if data["allow_special"]:
                body["allow_special"] = True
        else:
            body["messages"] = self._messages()
        if data["speculate"] is not None:
            body["speculate"] = data["speculate"]
        return body

    @property
    def has_special_prompt(self) -> bool:
        """Whether a folded field was used or is wrong."""
        names = ("system", "allow_special", "speculate")
        return any(self.errors.get(name) or self[name].value() not in (None, "", False) for name in names)

    def _messages(self) -> list[dict[str, str]]:
        system = storable(self.cleaned_data["system"])
        messages = [{"role": "user", "content": self.cleaned_data["prompt"]}]
        if not is_blank(system):
            messages.insert(0, {"role": "system", "content": system})
        return messages


def form_values(body: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored request: the other way round of `request_body`."""
    texts = {message["role"]: message["content"] for message in body.get("messages", [])}
    return {
        **sampling_values(body.get("sampling", {})),
        "mode": "raw" if "prompt" in body else "chat",
        "prompt": body.get("prompt", texts.get("user", "")),
        "system": texts.get("system", ""),
        "allow_special": body.get("allow_special", False),
        "speculate": body.get("speculate"),
    }


class ForkForm(forms.Form):
    """Which token of which run to go on from."""

    run = forms.UUIDField()
    index = forms.IntegerField(min_value=0, max_value=100_000)
    token = forms.IntegerField(min_value=0, max_value=2**31)
    idempotency_key = forms.SlugField(max_length=60)

    def clean_run(self) -> str:
        return str(self.cleaned_data["run"])
