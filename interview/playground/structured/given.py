"""What a structured run may be asked: its shape and bounds, and a model's fields, for the page and the API alike."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from interview.playground.structured.contracts import CONTRACTS, TYPES, Contract, choice_of
from interview.runs.kinds import JSON, InputRefused

CONDITIONS = ("constrained", "unconstrained")
TRIALS, LONGEST, TEXT, FIELDS, MESSAGES = 12, 400, 6_000, 8, 8
TEXT_BOUND = 10_000
NUMBERS = ("number", "whole number")
ALLOWED = (
    f"contract: {', '.join(CONTRACTS)}, schema or model; conditions: {', '.join(CONDITIONS)}; trials: 1 to {TRIALS}; "
    f"max_tokens: 1 to {LONGEST}; temperature: 0 to 5; seed: 0 or more; source and messages: text up to {TEXT}"
)
Name = Annotated[str, Field(min_length=1, max_length=40)]
Text = Annotated[str, Field(max_length=TEXT)]
Bound = Annotated[float, Field(ge=-1e15, le=1e15)]


class Given(BaseModel):
    """No unknown keys, no conversions, no infinite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Said(Given):
    """A message that is sent with every trial."""

    role: Literal["system", "user", "assistant"]
    content: Text


class Row(Given):
    """A field of one's own model. Bounds are of the value, or of a text's length."""

    name: Name
    type: Literal[tuple(TYPES)]  # type: ignore[valid-type]  # the names are data
    required: bool
    low: Bound | None = None
    high: Bound | None = None
    choices: Annotated[list[Name], Field(max_length=20)] = []

    @model_validator(mode="after")
    def hold(self) -> Row:
        if not self.name.isidentifier() or self.name.startswith("_") or hasattr(Contract, self.name):
            raise ValueError(
                f"{self.name!r} can't name a field: take letters, digits and _, and another word"
            )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"{self.name}: at least is above at most")
        if self.type == "text":
            self._check_length()
        elif self.type == "yes or no" and (self.choices or self.low is not None or self.high is not None):
            raise ValueError(f"{self.name}: yes or no takes neither bounds nor choices")
        for choice in self.choices:
            choice_of(self.type, choice)
        return self

    def _check_length(self) -> None:
        for bound in (self.low, self.high):
            if bound is not None and not (bound.is_integer() and 0 <= bound <= TEXT_BOUND):
                raise ValueError(f"{self.name}: a text's length is a whole number from 0 to {TEXT_BOUND}")


class Rule(Given):
    """One number may not be above another."""

    small: Name
    large: Name


class Asked(Given):
    """The input of a run; `schema` is one's own, or is made from the contract."""

    messages: Annotated[list[Said], Field(min_length=1, max_length=MESSAGES)]
    contract: Literal[(*CONTRACTS, "schema", "model")]  # type: ignore[valid-type]  # the names are data
    schema_: Annotated[dict[str, Any] | bool | None, Field(alias="schema")] = None
    fields_: Annotated[list[Row], Field(alias="fields", max_length=FIELDS)] = []
    rule: Rule | None = None
    source: Text
    conditions: Annotated[list[Literal["constrained", "unconstrained"]], Field(min_length=1, max_length=2)]
    trials: Annotated[int, Field(ge=1, le=TRIALS)]
    max_tokens: Annotated[int, Field(ge=1, le=LONGEST)]
    temperature: Annotated[float, Field(ge=0, le=5)]
    seed: Annotated[int, Field(ge=0, le=2**53)]

    @model_validator(mode="after")
    def hold(self) -> Asked:
        if len(set(self.conditions)) < len(self.conditions):
            raise ValueError("conditions: each once")
        if self.contract == "schema" and self.schema_ is None:
            raise ValueError("Give a JSON schema: an object")
        if self.contract == "model":
            self._check_model()
        return self

    def _check_model(self) -> None:
        if not self.fields_:
            raise ValueError("Name at least one field of your model")
        names = [row.name for row in self.fields_]
        if len(set(names)) < len(names):
            raise ValueError("Two fields of your model have one name")
        numbers = {row.name for row in self.fields_ if row.type in NUMBERS and not row.choices}
        if self.rule is not None and not {self.rule.small, self.rule.large} <= numbers:
            raise ValueError("The rule names two number fields of the model")


def checked(body: JSON) -> JSON:
    """The input complete and in bounds. Raises InputRefused with the place and what is allowed."""
    try:
        asked = Asked.model_validate(body)
    except ValidationError as error:
        raise _refused(error) from error
    return asked.model_dump(mode="json", by_alias=True)


def _refused(error: ValidationError) -> InputRefused:
    fault = error.errors(include_url=False, include_input=False)[0]
    loc = tuple(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        keys = ", ".join(sorted(field.alias or name for name, field in Asked.model_fields.items()))
        return InputRefused("unknown_key", f"Unknown key {loc[-1]!r}. Allowed: {keys}.", loc)
    if fault["type"] == "value_error":
        return InputRefused("invalid_field", fault["msg"].removeprefix("Value error, "), loc)
    return InputRefused(
        "invalid_input", f"{'.'.join(loc)} can't be used: {fault['msg']}. Allowed: {ALLOWED}.", loc
    )
