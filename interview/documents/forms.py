"""Forms of the documents room."""

from __future__ import annotations

from typing import Any

from django import forms

from interview.accounts.models import User
from interview.documents import assignment_sharing, question_sets, selectors
from interview.plain_text import is_blank, storable


class CollectionForm(forms.Form):
    """A collection's name."""

    name = forms.CharField(max_length=120, label="Name of the collection")

    def clean_name(self) -> str:
        name = storable(self.cleaned_data["name"]).strip()
        if is_blank(name):
            raise forms.ValidationError("Give it a name that can be seen.")
        return name


QUESTION_LIMIT = 2_000
STYLES = [
    ("quote", "Quote: only words that stand in the documents"),
    ("cited", "Answer with citations, each claim checked"),
    ("free", "Free: what the model says by itself, checked afterwards"),
]


class SearchForm(forms.Form):
    """A question and the documents it is put to."""

    question = forms.CharField(
        max_length=QUESTION_LIMIT, widget=forms.Textarea(attrs={"rows": 3, "data-submit-keys": True})
    )
    scope = forms.ChoiceField(label="Where", required=False)
    most = forms.IntegerField(
        label="Passages",
        min_value=1,
        max_value=20,
        initial=6,
        help_text="The nearest ones that are shown and, when asked, given to the model.",
    )
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def __init__(self, *arguments: Any, reader: User | None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.fields["scope"].choices = scope_choices(reader)  # type: ignore[attr-defined]

    def clean_question(self) -> str:
        question = storable(self.cleaned_data["question"]).strip()
        if is_blank(question):
            raise forms.ValidationError("Write a question: this one holds nothing that can be seen.")
        return question

    def run_input(self) -> dict[str, Any]:
        """The run's input: a collection, a document or neither narrows where is searched."""
        data = self.cleaned_data
        return {"question": data["question"], "most": data["most"], **selection_of(data["scope"])}

    def origin(self) -> dict[str, Any]:
        """What the run is for, besides its owner."""
        return {}


class AskForm(SearchForm):
    """The same with the style of the answer, and the assignment it is asked for."""

    assignment = forms.CharField(required=False, widget=forms.HiddenInput)
    style = forms.ChoiceField(choices=STYLES, initial="quote", widget=forms.RadioSelect)
    field_order = ("question", "style", "scope", "most")

    def __init__(self, *arguments: Any, reader: User | None, **keywords: Any) -> None:
        super().__init__(*arguments, reader=reader, **keywords)
        self.asked_for = assignment_sharing.assignment_for(reader, self["assignment"].value())

    def clean_assignment(self) -> str:
        """An assignment that isn't there for one any more is left out: the question can still be asked."""
        return str(self.asked_for.pk) if self.asked_for else ""

    def run_input(self) -> dict[str, Any]:
        return {**super().run_input(), "style": self.cleaned_data["style"]}

    def origin(self) -> dict[str, Any]:
        name = self.cleaned_data["assignment"]
        return {"assignment": name} if name else {}


class EvaluationForm(forms.Form):
    """A question set, the style it is answered in, and where it is searched when it brings no passages."""

    name = forms.CharField(max_length=120, required=False, help_text="Left empty, the file's name is used.")
    source = forms.ChoiceField(
        label="Questions",
        choices=[
            ("sample", "100 questions of SQuAD 2.0, half without an answer"),
            ("file", "A file of my own"),
        ],
        initial="sample",
        widget=forms.RadioSelect,
    )
    file = forms.FileField(
        required=False,
        help_text="JSON (a list of question, answers, context; or SQuAD's layout) or CSV with the columns question, answer "
        "(several parted by |, empty where there is none) and context. Without contexts your documents are asked. At most "
        "200 questions.",
    )
    style = forms.ChoiceField(choices=STYLES, initial="quote")
    most = forms.IntegerField(
        label="Questions at most",
        min_value=1,
        max_value=200,
        initial=100,
        help_text="Fewer is quicker: one takes a second or two.",
    )
    scope = forms.ChoiceField(label="Documents", required=False)
    idempotency_key = forms.SlugField(max_length=60, widget=forms.HiddenInput)

    def __init__(self, *arguments: Any, reader: User | None, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.fields["scope"].choices = scope_choices(reader)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        file = data.get("file")
        if data.get("source") == "file" and file is None and "file" not in self.errors:
            self.add_error("file", "Choose a file, or the sample.")
            return data
        try:
            if data.get("source") == "file" and file is not None:
                data["questions"] = question_sets.read(file.read(), file.name)
            else:
                data["questions"] = question_sets.sample()
        except question_sets.SetRefused as refused:
            self.add_error("file", str(refused))
        return data

    def set_name(self) -> str:
        """What the evaluation is called."""
        data = self.cleaned_data
        own = data["file"].name if data["source"] == "file" else "SQuAD 2.0 sample"
        return storable(data["name"]).strip() or str(own)[:120]


def selection_of(scope: str) -> dict[str, Any]:
    """What a choice of where to search means in a run's input."""
    kind, _, name = scope.partition(":")
    chosen: dict[str, dict[str, Any]] = {"c": {"collection": name}, "d": {"documents": [name]}}
    return chosen.get(kind, {})


def scope_choices(reader: User | None) -> list[tuple[str, str]]:
    """Everything one may read, each collection, each document that is ready."""
    choices = [("", "Everything you may read")]
    if reader is not None:
        choices += [(f"c:{c.pk}", f"Collection: {c.name}") for c in selectors.readable_collections(reader)]
        choices += [(f"d:{d.pk}", d.name) for d in selectors.searchable_documents(reader)]
    return choices


def form_values(body: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored run: the other way round of `run_input`."""
    scope = f"c:{body['collection']}" if body.get("collection") else ""
    scope = f"d:{body['documents'][0]}" if body.get("documents") else scope
    return {
        "question": body["question"],
        "most": body["most"],
        "scope": scope,
        "style": body.get("style", "quote"),
    }
