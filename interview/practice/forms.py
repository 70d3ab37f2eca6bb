"""Forms of practice. They never shorten what was typed."""

from __future__ import annotations

from django import forms

from interview.practice.models import Review

LARGEST_SECONDS = 60 * 60 * 24 * 7


class AnswerForm(forms.Form):
    """An answer with the key that makes a double click one attempt."""

    text = forms.CharField(required=False, strip=False, widget=forms.Textarea)
    idempotency_key = forms.SlugField(max_length=60)
    elapsed_seconds = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_SECONDS)

    def clean_elapsed_seconds(self) -> int:
        return self.cleaned_data["elapsed_seconds"] or 0


class RatingForm(forms.Form):
    """How well it was known."""

    rating = forms.TypedChoiceField(choices=Review.RATINGS, coerce=int)


class DraftForm(forms.Form):
    """An autosave: revisions only grow."""

    text = forms.CharField(required=False, strip=False)
    revision = forms.IntegerField(min_value=1, max_value=2**31 - 1)
    elapsed_seconds = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_SECONDS)

    def clean_elapsed_seconds(self) -> int:
        return self.cleaned_data["elapsed_seconds"] or 0
