"""One prompt, up to four settings, N trials of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms

from interview.plain_text import is_blank, storable
from interview.playground.forms import MODES
from interview.playground.trials.checks import NEEDS_TEXT, RULES, first_number
from interview.runs.fits import size_fault

PROMPT_LIMIT = 4000
SETTINGS = 4
TRIALS, TOTAL, LONGEST = 50, 100, 128
# name: label, default, lowest, highest
KNOBS: dict[str, tuple[str, float, float, float]] = {
    "temperature": ("Temperature", 0.0, 0, 5),
    "top_p": ("Top-p", 1.0, 0.01, 1),
    "top_k": ("Top-k", 0, 0, 100_000),
    "min_p": ("Min-p", 0.0, 0, 1),
}
TWO_AND_TWO: dict[str, Any] = {
    "prompt": "What is 2 + 2?",
    "mode": "chat",
    "trials": 10,
    "max_tokens": 24,
    "rule": "contains",
    "wanted": "4",
    "temperature_1": 0,
    "temperature_2": 0.7,
    "top_p_2": 0.9,
    "temperature_3": 1.5,
}


def _knob(label: str, name: str, low: float, high: float) -> forms.Field:
    widget = forms.NumberInput(attrs={"step": "any", "aria-label": label, "class": "num"})
    if name == "top_k":
        return forms.IntegerField(
            label=label, min_value=int(low), max_value=int(high), required=False, widget=widget
        )
    return forms.FloatField(label=label, min_value=low, max_value=high, required=False, widget=widget)


@dataclass(frozen=True)
class SettingRow:
    """The fields of one setting, each with its column's name."""

    number: int
    fields: list[tuple[str, forms.BoundField]]


class TrialsForm(forms.Form):
    """What to repeat, and what counts as a valid answer."""

    prompt = forms.CharField(
        max_length=PROMPT_LIMIT, strip=False, widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"})
    )
    mode = forms.ChoiceField(
        label="Sent as", choices=MODES, initial="chat", required=False, widget=forms.RadioSelect
    )
    trials = forms.IntegerField(
        label="Trials of each setting",
        min_value=2,
        max_value=TRIALS,
        initial=10,
        help_text="Each trial has its own seed; trial 3 has the same seed in every setting.",
    )
    max_tokens = forms.IntegerField(label="Max tokens", min_value=1, max_value=LONGEST, initial=24)
    seed = forms.IntegerField(label="First seed", min_value=0, max_value=2**53, initial=1, required=False)
    rule = forms.ChoiceField(label="An answer is valid when", choices=RULES, initial="none", required=False)
    wanted = forms.CharField(label="This text", max_length=500, required=False, strip=False)
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for number in range(1, SETTINGS + 1):
            for name, (label, _, low, high) in KNOBS.items():
                self.fields[f"{name}_{number}"] = _knob(f"{label} of setting {number}", name, low, high)

    @property
    def knobs(self) -> list[str]:
        """The columns of the settings."""
        return [label for label, *_ in KNOBS.values()]

    @property
    def rows(self) -> list[SettingRow]:
        """The settings, a row each."""
        return [
            SettingRow(number, [(label, self[f"{name}_{number}"]) for name, (label, *_) in KNOBS.items()])
            for number in range(1, SETTINGS + 1)
        ]

    def clean_prompt(self) -> str:
        prompt: str = self.cleaned_data["prompt"]
        if is_blank(prompt):
            raise forms.ValidationError("Write a prompt: this one holds nothing that can be seen.")
        return storable(prompt)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        rule, wanted = data.get("rule") or "none", data.get("wanted") or ""
        if rule in NEEDS_TEXT and is_blank(wanted):
            self.add_error("wanted", "Write the text that an answer is compared with.")
        elif rule == "number" and first_number(wanted) is None:
            self.add_error("wanted", "Write a number.")
        if not self.errors:
            self._check_settings(data)
        if not self.errors and (fault := size_fault(self.asked())):
            self.add_error("prompt", fault)
        return data

    def _check_settings(self, data: dict[str, Any]) -> None:
        settings = self.settings()
        if not settings:
            self.add_error(None, "Give at least one setting: a temperature is enough.")
        total = len(settings) * data["trials"]
        if total > TOTAL:
            self.add_error(
                "trials",
                f"{len(settings)} settings of {data['trials']} are {total} answers; {TOTAL} is the limit. Lower one.",
            )

    def settings(self) -> list[dict[str, Any]]:
        """The rows that were filled in."""
        found = []
        for number in range(1, SETTINGS + 1):
            given = {name: self.cleaned_data.get(f"{name}_{number}") for name in KNOBS}
            if any(value is not None for value in given.values()):
                found.append(
                    {name: KNOBS[name][1] if value is None else value for name, value in given.items()}
                )
        return found

    def asked(self) -> dict[str, Any]:
        """The prompt as it is sent."""
        prompt = self.cleaned_data["prompt"]
        if self.cleaned_data["mode"] == "raw":
            return {"prompt": prompt}
        return {"messages": [{"role": "user", "content": prompt}]}

    def request_body(self) -> dict[str, Any]:
        """The run's input."""
        data = self.cleaned_data
        return {
            **self.asked(),
            "settings": self.settings(),
            "trials": data["trials"],
            "max_tokens": data["max_tokens"],
            "seed": 1 if data["seed"] is None else data["seed"],
            "check": {"rule": data["rule"] or "none", "text": storable(data["wanted"])},
        }


def trials_values(body: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored input."""
    values = {name: body[name] for name in ("trials", "max_tokens", "seed")}
    for number, setting in enumerate(body["settings"], 1):
        values |= {f"{name}_{number}": value for name, value in setting.items()}
    return {
        **values,
        "prompt": body["prompt"] if "prompt" in body else body["messages"][-1]["content"],
        "mode": "raw" if "prompt" in body else "chat",
        "rule": body["check"]["rule"],
        "wanted": body["check"]["text"],
    }
