"""Forms that two people fill in at once: what the other one saved meanwhile isn't put back by an older page.

A page carries a mark of every value that it showed. Whatever was changed since by somebody else and not here stays theirs; where both
changed the same field, the form comes back with both, and is saved by pressing again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from copy import copy
from typing import Any

from django import forms

LONGEST = 4_000


def _mark(value: Any) -> str:
    text = "" if value is None else str(value).replace("\r\n", "\n").strip()
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


class SharedEdit(forms.Form):
    """Put before a form whose `initial` is what is stored now."""

    seen = forms.CharField(required=False, max_length=LONGEST, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.marks = {name: _mark(self.initial.get(name)) for name in self.fields if name != "seen"}
        self.initial["seen"] = json.dumps(self.marks)

    def _clean_fields(self) -> None:
        """Before anything is checked, fields that only the other person changed take that value."""
        seen, both = _read(self.data.get("seen", "")), []
        data: Any = copy(self.data)  # of a QueryDict this is one that can be changed
        for name, now in self.marks.items():
            was, here = seen.get(name, now), _mark(data.get(name))
            if was == now or here == now:
                continue
            if here == was:
                data[name] = self.initial.get(name) or ""
            else:
                both.append(name)
        data["seen"] = self.initial["seen"]
        self.data = data
        super()._clean_fields()  # type: ignore[misc]
        self.cleaned_data.pop("seen", None)
        for name in both:
            theirs = self.initial.get(name)
            shown = "nothing" if theirs in (None, "") else f"“{str(theirs)[:200]}”"
            self.add_error(
                name, f"Somebody changed this meanwhile to {shown}. Save again to put yours in its place."
            )


def _read(text: str) -> Mapping[str, str]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}
