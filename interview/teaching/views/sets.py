"""Question sets: one's own, picking, order and points, sharing, the gallery, files."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from interview.accounts.sessions import AccountRequest
from interview.questions import selectors as questions
from interview.questions.models import LEVELS
from interview.teaching.errors import TeachingRefused
from interview.teaching.forms.sets import ItemsForm, SetForm, SetImportForm
from interview.teaching.models import QuestionSet
from interview.teaching.selectors import classes
from interview.teaching.selectors import sets as selectors
from interview.teaching.services import set_files
from interview.teaching.services import sets as services
from interview.teaching.views.pages import fills, reads, writes

SHOWN = 60


@require_safe
def set_list(request: HttpRequest) -> HttpResponseBase:
    """One's sets; a visitor goes to the gallery."""
    return _own_sets(request) if request.user.is_authenticated else redirect("teaching:gallery")


@reads
def _own_sets(request: AccountRequest) -> HttpResponse:
    return render(request, "teaching/set_list.html", {"sets": selectors.set_list(request.user)})


@require_safe
def gallery(request: HttpRequest) -> HttpResponse:
    """Sets that teachers published, for everybody to read."""
    search = request.GET.get("q", "").replace("\x00", "")[:200]
    context = {"sets": selectors.gallery(search)[:SHOWN], "search": search}
    return render(request, "teaching/gallery.html", context)


def _own(request: AccountRequest, set_id: uuid.UUID) -> QuestionSet:
    found = selectors.set_own(request.user, set_id)
    if found is None:
        raise Http404("No such set.")
    return found


@fills
def set_create(request: AccountRequest) -> HttpResponse:
    """Make a set."""
    form = SetForm(request.POST or None)
    if form.is_valid():
        made = services.set_create(owner=request.user, **form.cleaned_data)
        return redirect("teaching:set_page", set_id=made.pk)
    return render(request, "teaching/set_create.html", {"form": form}, status=422 if form.errors else 200)


@require_safe
def set_page(request: HttpRequest, set_id: uuid.UUID) -> HttpResponseBase:
    """A set: its owner picks and orders, others read a published one."""
    user = request.user if request.user.is_authenticated else None
    found = selectors.set_visible(user, set_id)
    if found is None:
        raise Http404("No such set.")
    if user is not None and found.owner_id == user.pk:
        return _editor(request, found)
    return _reader(request, found)


@require_safe
def set_shared(request: HttpRequest, code: str) -> HttpResponse:
    """A set by its link."""
    found = selectors.set_by_code(code)
    if found is None:
        raise Http404("No such set.")
    return _reader(request, found)


def _reader(request: HttpRequest, found: QuestionSet) -> HttpResponse:
    items = selectors.set_items(found)
    context = {"set": found, "items": items, "points": selectors.points_sum(items)}
    return render(request, "teaching/set_read.html", context)


def _editor(
    request: HttpRequest,
    found: QuestionSet,
    *,
    form: SetForm | None = None,
    items_form: ItemsForm | None = None,
) -> HttpResponse:
    items = selectors.set_items(found)
    if items_form is not None:
        _as_typed(items, items_form)
    picker = _picker(request, items)
    context = {
        "set": found,
        "items": items,
        "points": selectors.points_sum(items),
        "classes": classes.taught_list(found.owner),
        "holds_own": any(item.question.owner_id is not None for item in items),
        "form": form or SetForm(initial={"title": found.title, "about": found.about}),
        "editing": form is not None,
        "errors": bool(items_form and items_form.errors),
        **picker,
    }
    fragment = "#picker" if request.htmx and request.method == "GET" else ""  # type: ignore[attr-defined]
    bad = bool((form and form.errors) or (items_form and items_form.errors))
    return render(request, f"teaching/set_edit.html{fragment}", context, status=422 if bad else 200)


def _as_typed(items: list[Any], form: ItemsForm) -> None:
    rows = {row.item: row for row in form.rows}
    for item in items:
        if row := rows.get(item.pk):
            item.section, item.note = row.section, row.note
            item.fault = form.errors.get(item.pk, "")


def _picker(request: HttpRequest, items: list[Any]) -> dict[str, Any]:
    asked = {
        name: request.GET.get(name, "").replace("\x00", "")[:200] for name in ("q", "topic", "level", "own")
    }
    assert request.user.is_authenticated
    narrowed = {"search": asked["q"], "topic": asked["topic"], "level": asked["level"]}
    found = selectors.pick_list(request.user, **narrowed, own=bool(asked["own"]))
    rows, inside = list(found[:SHOWN]), {item.question_id for item in items}
    return {
        "asked": asked,
        "topics": questions.topic_list(),
        "levels": [level for level, _ in LEVELS],
        "found": [(question, question.pk in inside) for question in rows],
        "n_found": len(rows) if len(rows) < SHOWN else found.count(),
        "shown": SHOWN,
    }


@writes
def set_update(request: AccountRequest, set_id: uuid.UUID) -> HttpResponse:
    """Title and description."""
    found = _own(request, set_id)
    form = SetForm(request.POST)
    if not form.is_valid():
        return _editor(request, found, form=form)
    services.set_update(question_set=found, **form.cleaned_data)
    messages.success(request, "Saved.")
    return redirect("teaching:set_page", set_id=set_id)


@writes
def items_add(request: AccountRequest, set_id: uuid.UUID) -> HttpResponse:
    """Put picked questions into the set."""
    found = _own(request, set_id)
    picked = selectors.usable_questions(request.user).filter(pk__in=request.POST.getlist("question")[:100])
    services.items_add(question_set=found, questions=picked)
    return _back_to_set(request, found)


@writes
def item_remove(request: AccountRequest, set_id: uuid.UUID, question_id: str) -> HttpResponse:
    """Take a question out again."""
    found = _own(request, set_id)
    services.item_remove(question_set=found, question_id=question_id)
    return _back_to_set(request, found)


def _back_to_set(request: AccountRequest, found: QuestionSet) -> HttpResponse:
    """To the set, with the search one was in the middle of."""
    asked = request.POST.get("asked", "")
    query = f"?{asked}" if asked.isprintable() and len(asked) < 700 else ""
    response = redirect("teaching:set_page", set_id=found.pk)
    response["Location"] += f"{query}#pick"
    return response


@writes
def items_update(request: AccountRequest, set_id: uuid.UUID) -> HttpResponse:
    """Order, sections, points and notes, all at once."""
    found = _own(request, set_id)
    form = ItemsForm(request.POST, selectors.set_items(found))
    if not form.is_valid():
        return _editor(request, found, items_form=form)
    services.items_update(question_set=found, rows=form.rows, up=form.up, down=form.down)
    return redirect("teaching:set_page", set_id=set_id)


@writes
def set_duplicate(request: AccountRequest, set_id: uuid.UUID) -> HttpResponse:
    """A copy of one's own, or of a set one can read (published, or by its link's code)."""
    found = selectors.set_visible(request.user, set_id) or selectors.set_by_code(
        request.POST.get("code", "") or "-"
    )
    if found is None or found.pk != set_id:
        raise Http404("No such set.")
    copy = services.set_duplicate(question_set=found, owner=request.user)
    messages.success(request, "This is your copy. Changes to it leave the original alone.")
    return redirect("teaching:set_page", set_id=copy.pk)


@writes
def set_share(request: AccountRequest, set_id: uuid.UUID) -> HttpResponse:
    """Switch the set's link on or off."""
    services.set_share(question_set=_own(request, set_id), on=request.POST.get("on") == "1")
    return redirect("teaching:set_page", set_id=set_id)


@writes
def set_publish(request: AccountRequest, set_id: uuid.UUID) -> HttpResponse:
    """Put the set into the gallery, or take it out."""
    found = _own(request, set_id)
    try:
        services.set_publish(question_set=found, on=request.POST.get("on") == "1")
    except TeachingRefused as refusal:
        messages.error(request, str(refusal))
    return redirect("teaching:set_page", set_id=set_id)


@writes
def set_delete(request: AccountRequest, set_id: uuid.UUID) -> HttpResponse:
    """Delete a set; assignments made from it stay."""
    services.set_delete(question_set=_own(request, set_id))
    messages.success(request, "The set is deleted. Assignments made from it keep their questions.")
    return redirect("teaching:set_list")


@reads
def set_export(request: AccountRequest, set_id: uuid.UUID) -> HttpResponse:
    """The set as a file."""
    found = _own(request, set_id)
    name = slugify(found.title) or "set"
    return JsonResponse(
        set_files.set_document(found),
        json_dumps_params={"ensure_ascii": False, "indent": 2},
        headers={"Content-Disposition": f'attachment; filename="prefill-set-{name}.json"'},
    )


@fills
def set_import(request: AccountRequest) -> HttpResponse:
    """A set from a file."""
    form = SetImportForm(request.POST or None, request.FILES or None)
    if form.is_valid():
        try:
            made, faults = set_files.set_import(owner=request.user, data=form.cleaned_data["file"].read())
        except TeachingRefused as refusal:
            form.add_error("file", str(refusal))
        else:
            for fault in faults:
                messages.warning(request, fault)
            messages.success(request, "The set is yours now.")
            return redirect("teaching:set_page", set_id=made.pk)
    return render(request, "teaching/set_import.html", {"form": form}, status=422 if form.errors else 200)
