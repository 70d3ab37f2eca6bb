"""The decoding controls, each with the one line that explains it; every page that samples uses this form."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.plain_text import storable
from interview.runs.fits import served_model

STOP_LIMIT = 4
BIAS_LIMIT = 20
ORDERS = [
    ("temperature_first", "temperature, then the filters (transformers)"),
    ("temperature_last", "the filters, then temperature (llama.cpp)"),
]


def real(
    label: str, default: float, low: float, high: float, help_text: str, step: float = 0.05
) -> forms.FloatField:
    """A number field; left out of a request it takes its default."""
    widget = forms.NumberInput(attrs={"step": "any", "data-step": step})
    return forms.FloatField(
        label=label,
        min_value=low,
        max_value=high,
        initial=default,
        required=False,
        help_text=help_text,
        widget=widget,
    )


def whole(label: str, default: int, low: int, high: int, help_text: str) -> forms.IntegerField:
    """A whole-number field; left out of a request it takes its default."""
    return forms.IntegerField(
        label=label, min_value=low, max_value=high, initial=default, required=False, help_text=help_text
    )


class SamplingForm(forms.Form):
    """How the next token is chosen; `sampling()` is what the engine takes."""

    temperature = real("Temperature", 0.7, 0, 5, "Divides the logits: 0 always takes the likeliest token.")
    top_p = real("Top-p", 0.9, 0, 1, "Keeps the smallest set that holds this much probability; 1 is off.")
    top_k = whole("Top-k", 0, 0, 100_000, "Keeps this many tokens; 0 keeps all.")
    min_p = real("Min-p", 0, 0, 1, "Keeps tokens at least this share as likely as the likeliest; 0 is off.")
    typical_p = real(
        "Typical-p", 1, 0, 1, "Keeps tokens whose surprise is near the average surprise; 1 is off."
    )
    repetition_penalty = real(
        "Repetition penalty", 1, 0.01, 10, "Weakens every token of prompt and answer; 1 is off."
    )
    frequency_penalty = real(
        "Frequency penalty", 0, -10, 10, "Taken off a token's logit each time it was written; 0 is off."
    )
    presence_penalty = real(
        "Presence penalty", 0, -10, 10, "Taken off once a token was written at all; 0 is off."
    )
    no_repeat_ngram = whole(
        "No repeated n-gram", 0, 0, 100, "No run of this many tokens comes twice; 0 is off."
    )
    max_tokens = whole("Max tokens", 128, 1, 2048, "Ends the answer after this many tokens.")
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**63 - 1,
        required=False,
        help_text="Fixes the random stream; empty draws a new one.",
    )
    order = forms.ChoiceField(
        choices=ORDERS,
        initial="temperature_first",
        required=False,
        help_text="Filters see other probabilities before than after the temperature.",
    )
    logit_bias = forms.CharField(
        label="Logit bias",
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="Token id and what is added to its logit, one a line, such as 28 -100.",
    )
    stop = forms.CharField(
        label="Stop strings",
        required=False,
        strip=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One a line, four at most; the answer ends before the first that appears.",
    )

    def clean(self) -> dict[str, Any]:
        """Fields that a request leaves out take their defaults."""
        data = super().clean() or self.cleaned_data
        for name, field in self.fields.items():
            if name in data and data[name] in (None, "") and field.initial is not None:
                data[name] = field.initial
        return data

    def clean_stop(self) -> list[str]:
        lines = [line for line in storable(self.cleaned_data["stop"]).split("\n") if line]
        if len(lines) > STOP_LIMIT:
            raise forms.ValidationError(f"{len(lines)} stop strings; {STOP_LIMIT} is the limit.")
        return lines

    def clean_logit_bias(self) -> dict[str, float]:
        found = {}
        for line in self.cleaned_data["logit_bias"].split("\n"):
            if not line.strip():
                continue
            token, _, value = line.strip().replace(":", " ").partition(" ")
            if not token.isdecimal() or not _is_bias(value):
                raise forms.ValidationError(
                    f"“{line.strip()[:40]}” is no token id and number from -100 to 100."
                )
            found[str(int(token))] = float(value)
        if len(found) > BIAS_LIMIT:
            raise forms.ValidationError(f"{len(found)} tokens; {BIAS_LIMIT} is the limit.")
        model = served_model() if found else None
        if model and (unknown := [token for token in found if int(token) >= model.vocab_size]):
            raise forms.ValidationError(
                f"There is no token {unknown[0]}: ids go up to {model.vocab_size - 1}."
            )
        return found

    def clean_top_p(self) -> float | None:
        return self._above_zero("top_p", "Top-p")

    def clean_typical_p(self) -> float | None:
        return self._above_zero("typical_p", "Typical-p")

    def _above_zero(self, name: str, label: str) -> float | None:
        value: float | None = self.cleaned_data[name]
        if value == 0:
            raise forms.ValidationError(f"{label} must be above 0, or no token is left to choose.")
        return value

    def sampling(self) -> dict[str, Any]:
        """The settings for the engine; those that are off are left out, so that a run's record stays readable."""
        data = self.cleaned_data
        found = {name: data[name] for name in ("temperature", "top_p", "top_k", "max_tokens")}
        for name in OFF:
            if data.get(name) not in (OFF[name], None):
                found[name] = data[name]
        if data["seed"] is not None:
            found["seed"] = data["seed"]
        return found

    @property
    def has_special_sampling(self) -> bool:
        """Whether a control that lies folded away was used or is wrong, so that the fold should be open."""
        return any(self.errors.get(name) or self[name].value() not in _unused(name) for name in FOLDED)


def _unused(name: str) -> tuple[object, ...]:
    off = OFF[name]
    return (None, "", off, str(off), {}, [])


OFF: dict[str, object] = {
    "min_p": 0,
    "typical_p": 1,
    "repetition_penalty": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "no_repeat_ngram": 0,
    "order": "temperature_first",
    "logit_bias": {},
    "stop": [],
}

FOLDED = [name for name in OFF if name != "min_p"]


def _is_bias(value: str) -> bool:
    try:
        return -100 <= float(value) <= 100
    except ValueError:
        return False


def sampling_values(sampling: dict[str, Any]) -> dict[str, Any]:
    """The form's values for stored settings: the other way round of `SamplingForm.sampling`."""
    bias = sampling.get("logit_bias", {})
    return {
        **sampling,
        "stop": "\n".join(sampling.get("stop", [])),
        "logit_bias": "\n".join(f"{token} {value:g}" for token, value in bias.items()),
    }
