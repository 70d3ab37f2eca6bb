"""What is filled in about a question set."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.http import QueryDict

from interview.accounts.forms import NameField, PlainForm
from interview.plain_text import storable
from interview.teaching.forms.classes import StorableField
from interview.teaching.models import LARGEST_POINTS, SetItem
from interview.teaching.services.sets import ItemRow

SET_BYTES = 2_000_000


class SetForm(PlainForm):
    """Title and description."""

    title = NameField(max_length=120, label="Title", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    about = StorableField(
        required=False, max_length=5_000, label="Description", widget=forms.Textarea(attrs={"rows": 3})
    )


class SetImportForm(PlainForm):
    """A file that this site exported."""

    file = forms.FileField(label="Set file (JSON)", widget=forms.FileInput(attrs={"accept": ".json"}))

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > SET_BYTES:
            raise forms.ValidationError("The file is larger than 2 MB.")
        return file


class ItemsForm:
    """The set's list as one form: nothing typed in one line is lost by a button in another."""

    def __init__(self, data: QueryDict, items: list[SetItem]) -> None:
        self.errors: dict[int, str] = {}
        self.rows = [
            self._row(data, item, place)
            for place, item in enumerate(items, start=1)
            if f"points-{item.pk}" in data
        ]
        self.up, self.down = _number(data.get("up")), _number(data.get("down"))

    def _row(self, data: QueryDict, item: SetItem, place: int) -> ItemRow:
        def get(name: str) -> str:
            return storable(str(data.get(f"{name}-{item.pk}", ""))).strip()

        points = _points(get("points"))
        if points is None:
            self.errors[item.pk] = f"Points are a number from 0 to {LARGEST_POINTS}, with up to two decimals."
        position = _number(get("position"))
        return ItemRow(
            item=item.pk,
            place=place,
            position=place if position is None else position,
            section=" ".join(get("section").split())[:120],
            points=item.points if points is None else points,
            note=get("note")[:5_000],
            remove=f"remove-{item.pk}" in data,
        )

    def is_valid(self) -> bool:
        return not self.errors


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else None


def _points(text: str) -> Decimal | None:
    """Points as people type them; a decimal comma is fine."""
    try:
        points = Decimal(text.replace(",", "."))
    except InvalidOperation:
        return None
    if not points.is_finite() or not 0 <= points <= LARGEST_POINTS:
        return None
    return points if points == points.quantize(Decimal("0.01")) else None
