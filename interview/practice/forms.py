"""Forms of practice. They never shorten what was typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from interview.practice.models import Review, Ruling
from interview.questions.models import LEVELS, Topic

LARGEST_SECONDS = 60 * 60 * 24 * 7
LARGEST_REVISION = 2**31 - 1


class AnswerForm(forms.Form):
    """An answer with the key that makes a double click one attempt."""

    text = forms.CharField(required=False, strip=False, widget=forms.Textarea)
    idempotency_key = forms.SlugField(max_length=60)
    elapsed_seconds = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_SECONDS)
    seen = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_REVISION)

    def clean_elapsed_seconds(self) -> int:
        return self.cleaned_data["elapsed_seconds"] or 0


class RatingForm(forms.Form):
    """How well it was known."""

    rating = forms.TypedChoiceField(choices=Review.RATINGS, coerce=int)


class RulingForm(forms.Form):
    """What a reviewer decides on a dispute, and why."""

    outcome = forms.ChoiceField(
        label="What do you decide?", choices=Ruling.OUTCOMES, widget=forms.RadioSelect
    )
    percent = forms.IntegerField(
        label="Score instead, in percent",
        required=False,
        min_value=0,
        max_value=100,
        help_text="Only when the verdict was wrong.",
    )
    reason = forms.CharField(label="Reason, for the learner", widget=forms.Textarea(attrs={"rows": 3}))

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        changed, percent = data.get("outcome") == "changed", data.get("percent")
        if changed and percent is None and "percent" not in self.errors:
            self.add_error("percent", "Say which score is right.")
        if data.get("outcome") == "upheld" and percent is not None:
            self.add_error("percent", "The verdict stands, so there is no other score. Leave this empty.")
        return data

    def ruling(self) -> dict[str, Any]:
        """What the service takes."""
        percent = self.cleaned_data["percent"]
        score = None if percent is None else percent / 100
        return {
            "outcome": self.cleaned_data["outcome"],
            "score": score,
            "reason": self.cleaned_data["reason"],
        }


class DraftForm(forms.Form):
    """An autosave: revisions only grow."""

    text = forms.CharField(required=False, strip=False)
    revision = forms.IntegerField(min_value=1, max_value=LARGEST_REVISION)
    elapsed_seconds = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_SECONDS)

    def clean_elapsed_seconds(self) -> int:
        return self.cleaned_data["elapsed_seconds"] or 0


class SessionForm(forms.Form):
    """What an interview session is about and how long it takes."""

    topics = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, help_text="None ticked: all of them."
    )
    level = forms.ChoiceField(required=False, choices=[("", "any level"), *LEVELS])
    n_questions = forms.IntegerField(label="Questions", min_value=1, max_value=20, initial=5)
    minutes = forms.IntegerField(label="Minutes a question", min_value=1, max_value=60, initial=5)
    own = forms.BooleanField(required=False, label="Ask my own questions too")

    def __init__(self, *args: Any, topics: Sequence[Topic], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["topics"].choices = [(topic.pk, topic.title) for topic in topics]  # type: ignore[attr-defined]
