"""Forms of the documents room."""

from __future__ import annotations

from django import forms

from interview.plain_text import is_blank, storable


class CollectionForm(forms.Form):
    """A collection's name."""

    name = forms.CharField(max_length=120, label="Name of the collection")

    def clean_name(self) -> str:
        name = storable(self.cleaned_data["name"]).strip()
        if is_blank(name):
            raise forms.ValidationError("Give it a name that can be seen.")
        return name
