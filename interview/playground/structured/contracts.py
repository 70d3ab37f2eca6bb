"""Contracts a model's output is held to: a pydantic model gives the schema and, after it, the rules no schema holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)

JSON = dict[str, Any]


class Contract(BaseModel):
    """Base of every contract: no further keys, no conversions. The validation context holds the source text."""

    model_config = ConfigDict(extra="forbid", strict=True)


def source_of(info: ValidationInfo) -> str:
    """The text the output is about."""
    return str((info.context or {}).get("source", ""))


class Refund(Contract):
    """A decision about a refund."""

    order: Annotated[str, Field(pattern=r"^[A-Z]{2}-[0-9]{4}$", description="as in AB-1234")]
    decision: Literal["approve", "deny", "escalate"]
    amount_cents: Annotated[int, Field(ge=0, le=100_000)]
    currency: Literal["EUR", "USD", "CHF"]

    @model_validator(mode="after")
    def hold(self, info: ValidationInfo) -> Refund:
        if (self.decision == "approve") != (self.amount_cents > 0):
            raise ValueError("an approval has an amount above 0, every other decision has 0")
        if self.order not in source_of(info):
            raise ValueError(f"the order {self.order} is not in the text")
        return self


class Contact(Contract):
    """A person's details as a text gives them."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    email: Annotated[str, Field(max_length=80)] | None
    phone: Annotated[str, Field(max_length=30)] | None

    @model_validator(mode="after")
    def hold(self, info: ValidationInfo) -> Contact:
        if self.email is None and self.phone is None:
            raise ValueError("give an e-mail address or a phone number")
        for value in (self.name, self.email, self.phone):
            if value is not None and value not in source_of(info):
                raise ValueError(f"{value!r} is not in the text")
        return self


class Grounded(Contract):
    """An answer with its quote, or the admission that the text has none."""

    status: Literal["answered", "not_found"]
    answer: Annotated[str, Field(max_length=200)]
    quote: Annotated[str, Field(max_length=300, description="word for word from the text")]

    @model_validator(mode="after")
    def hold(self, info: ValidationInfo) -> Grounded:
        if self.status == "not_found":
            if self.answer or self.quote:
                raise ValueError("not_found goes with an empty answer and an empty quote")
        elif not self.answer or not self.quote:
            raise ValueError("an answer needs its text and its quote")
        elif self.quote not in source_of(info):
            raise ValueError("the quote is not in the text word for word")
        return self


@dataclass(frozen=True)
class Known:
    """A contract of the page: its model, and a text to try it on."""

    title: str
    model: type[Contract]
    rules: tuple[str, ...]
    sample: str


CONTRACTS: dict[str, Known] = {
    "refund": Known(
        "Refund decision",
        Refund,
        ("an approval has an amount above 0, every other decision 0", "the order number occurs in the text"),
        "Order AB-1234: the lamp arrived broken. I paid 49.90 EUR and want my money back.",
    ),
    "contact": Known(
        "Contact extraction",
        Contact,
        ("an e-mail address or a phone number is given", "every value occurs in the text"),
        "Please call Mira Sample on 555-0142 or write to mira@example.org before Friday.",
    ),
    "grounded": Known(
        "Grounded answer",
        Grounded,
        ("the quote is in the text word for word", "not_found has neither answer nor quote"),
        "How long is the warranty?\n\nText: The lamp has a warranty of two years. Returns take 14 days.",
    ),
}
TYPES: dict[str, Any] = {"text": str, "whole number": int, "number": float, "yes or no": bool}


def own_model(fields: Sequence[JSON], rule: JSON | None) -> type[Contract]:
    """A model from the form's rows: {"name", "type", "required", "low", "high", "choices"}; `rule` is {"small", "large"}:
    the first number may not be above the second.
    """
    made: dict[str, Any] = {
        row["name"]: (_annotation(row), ... if row["required"] else None) for row in fields
    }
    model: type[Contract] = create_model("Own", __base__=Contract, **made)
    return model if rule is None else _ruled(model, rule["small"], rule["large"])


def _ruled(model: type[Contract], small: str, large: str) -> type[Contract]:
    class Ruled(model):  # type: ignore[misc, valid-type]  # made at run time
        @model_validator(mode="after")
        def _in_order(self) -> Ruled:
            low, high = getattr(self, small), getattr(self, large)
            if low is not None and high is not None and low > high:
                raise ValueError(f"{small} is above {large}")
            return self

    return Ruled


def _annotation(row: JSON) -> Any:
    low, high = row.get("low"), row.get("high")
    if row.get("choices"):
        kind: Any = Literal[tuple(choice_of(row["type"], choice) for choice in row["choices"])]
    elif row["type"] == "text":
        shortest = int(low or 0)
        longest = max(200, shortest) if high is None else int(high)
        kind = Annotated[str, Field(min_length=shortest, max_length=longest)]
    else:
        given = {key: value for key, value in (("ge", low), ("le", high)) if value is not None}
        kind = Annotated[TYPES[row["type"]], Field(**given)] if given else TYPES[row["type"]]
    return kind if row["required"] else kind | None


def choice_of(kind: str, text: str) -> str | int | float:
    """A choice as a value of its field's type. Raises ValueError for a text that is none."""
    if kind not in ("whole number", "number"):
        return text
    try:
        number = int(text) if kind == "whole number" else float(text)
    except ValueError:
        raise ValueError(f"the choice {text!r} is no {kind}") from None
    if not math.isfinite(number):
        raise ValueError(f"the choice {text!r} is no {kind}")
    return number


def model_of(body: JSON) -> type[Contract] | None:
    """The pydantic model of a run's input; None for an own schema, which has no rules beyond it."""
    if body["contract"] in CONTRACTS:
        return CONTRACTS[body["contract"]].model
    if body["contract"] == "model":
        return own_model(body["fields"], body.get("rule"))
    return None


def schema_of(model: type[Contract]) -> JSON:
    """The model's JSON schema without the titles that only cost tokens."""
    found: JSON = _untitled(model.model_json_schema())
    return found


def _untitled(value: Any, inside: str = "") -> Any:
    if isinstance(value, dict):
        keep = inside == "properties"
        dropped = () if keep else ("title", "default")
        return {key: _untitled(part, key) for key, part in value.items() if key not in dropped}
    return [_untitled(part) for part in value] if isinstance(value, list) else value


def semantic_faults(model: type[Contract] | None, value: Any, source: str) -> str:
    """What is wrong with a value that fits its schema; empty when nothing is."""
    if model is None:
        return ""
    try:
        model.model_validate(value, context={"source": source})
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"]))
        return f"{where}: {fault['msg']}" if where else fault["msg"].removeprefix("Value error, ")
    return ""
