"""The form of the structured-output page."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from engine.schemas import read_json
from interview.plain_text import is_blank, storable, storable_json
from interview.playground.structured.contracts import CONTRACTS, TYPES
from interview.playground.structured.given import LONGEST, TEXT, TRIALS
from interview.playground.structured.kind import check
from interview.runs.kinds import InputRefused

ROWS = 4
SCHEMA_LIMIT = 150_000
CONSTRAINT = [("both", "compare both"), ("on", "on"), ("off", "off: validate and retry")]
OFFER = "Run it unconstrained, validate and retry"


class StructuredForm(forms.Form):
    """A contract, a text, and how often."""

    contract = forms.ChoiceField(
        choices=[*((slug, known.title) for slug, known in CONTRACTS.items()), ("schema", "Your JSON schema"), ("model", "Your model, from the fields below")],
        initial="refund",
    )  # fmt: skip
    source = forms.CharField(
        label="Text",
        max_length=TEXT,
        strip=False,
        initial=CONTRACTS["refund"].sample,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="What the output is about; the rules look for its values here.",
    )
    schema = forms.CharField(
        label="JSON schema",
        required=False,
        strip=False,
        max_length=SCHEMA_LIMIT,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text="Used where the contract is your JSON schema.",
    )
    small = forms.CharField(
        label="Rule: this number", required=False, max_length=40, help_text="A field's name, or empty."
    )
    large = forms.CharField(label="is never above", required=False, max_length=40)
    constraint = forms.ChoiceField(
        choices=CONSTRAINT,
        initial="both",
        widget=forms.RadioSelect,
        help_text="On: tokens that would break the schema are masked. Off: the text is decoded freely.",
    )
    trials = forms.IntegerField(min_value=1, max_value=TRIALS, initial=4, help_text="Texts a condition.")
    temperature = forms.FloatField(min_value=0, max_value=5, initial=0.7)
    max_tokens = forms.IntegerField(label="Max tokens", min_value=1, max_value=LONGEST, initial=120)
    seed = forms.IntegerField(min_value=0, max_value=2**53, initial=1, required=False)
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offers_unconstrained = False
        for row in range(ROWS):
            self.fields[f"name{row}"] = forms.CharField(label="Field", required=False, max_length=40)
            self.fields[f"type{row}"] = forms.ChoiceField(
                label="Type", choices=[(t, t) for t in TYPES], required=False
            )
            self.fields[f"low{row}"] = forms.FloatField(label="At least", required=False)
            self.fields[f"high{row}"] = forms.FloatField(label="At most", required=False)
            self.fields[f"choices{row}"] = forms.CharField(label="One of", required=False, max_length=200)
            self.fields[f"required{row}"] = forms.BooleanField(label="Required", required=False, initial=True)

    def rows(self) -> list[list[forms.BoundField]]:
        """The fields of each row of the model."""
        return [[self[f"{part}{row}"] for part in ("name", "type", "low", "high", "choices", "required")] for row in range(ROWS)]  # fmt: skip

    def clean_source(self) -> str:
        source = storable(self.cleaned_data["source"])
        if is_blank(source):
            raise forms.ValidationError("Write a text: this one holds nothing that can be seen.")
        return source

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors:
            self._check(data)
        return data

    def _check(self, data: dict[str, Any]) -> None:
        try:
            data["body"] = check(self._body(data))
        except InputRefused as refusal:
            own = data["contract"] == "schema"
            field = "schema" if own else "source" if refusal.code == "prompt_too_long" else "contract"
            self.offers_unconstrained = refusal.code == "unsupported_schema"
            hint = (
                " Turn the constraint off to decode freely, validate and retry."
                if self.offers_unconstrained
                else ""
            )
            self.add_error(field, f"{refusal}.{hint}".replace("..", "."))
        except RecursionError:
            self.add_error("schema", "This is nested too deep.")

    def _body(self, data: dict[str, Any]) -> dict[str, Any]:
        conditions = {
            "both": ["constrained", "unconstrained"],
            "on": ["constrained"],
            "off": ["unconstrained"],
        }
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": data["source"]}],
            "source": data["source"],
            "contract": data["contract"],
            "conditions": conditions[data["constraint"]],
            "seed": data["seed"] if data["seed"] is not None else 1,
            **{name: data[name] for name in ("trials", "temperature", "max_tokens")},
        }
        if data["contract"] == "schema":
            body["schema"] = storable_json(_written(data["schema"] or "null"))
        if data["contract"] == "model":
            body |= self._model(data)
        return body

    def _model(self, data: dict[str, Any]) -> dict[str, Any]:
        rows = [self._row(data, row) for row in range(ROWS) if data.get(f"name{row}")]
        small, large = data.get("small", ""), data.get("large", "")
        if bool(small) != bool(large):
            raise InputRefused("invalid_rule", "The rule names two number fields of the model")
        return {"fields": rows, "rule": {"small": small, "large": large} if small else None}

    def _row(self, data: dict[str, Any], row: int) -> dict[str, Any]:
        choices = [choice.strip() for choice in data.get(f"choices{row}", "").split(",") if choice.strip()]
        return {
            "name": data[f"name{row}"].strip(),
            "type": data.get(f"type{row}") or "text",
            "low": data.get(f"low{row}"),
            "high": data.get(f"high{row}"),
            "choices": list(dict.fromkeys(choices)),
            "required": bool(data.get(f"required{row}")),
        }


def _written(text: str) -> Any:
    try:
        return read_json(text)
    except json.JSONDecodeError as error:
        raise InputRefused("invalid_schema", f"This is no JSON: {error}") from error
    except ValueError as error:
        raise InputRefused("invalid_schema", f"This JSON can't be used: {error}") from error


def form_values(body: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored run."""
    conditions = body["conditions"]
    rule = body.get("rule") or {}
    values = {
        **{
            name: body[name] for name in ("contract", "source", "trials", "temperature", "max_tokens", "seed")
        },
        "constraint": "both" if len(conditions) == 2 else "on" if conditions == ["constrained"] else "off",
        "schema": json.dumps(body["schema"], indent=2, ensure_ascii=False)
        if body["contract"] == "schema"
        else "",
        "small": rule.get("small", ""),
        "large": rule.get("large", ""),
    }
    for row, field in enumerate(body.get("fields") or []):
        values |= {f"{part}{row}": field[part] for part in ("name", "type", "low", "high", "required")}
        values[f"choices{row}"] = ", ".join(field["choices"])
    return values
