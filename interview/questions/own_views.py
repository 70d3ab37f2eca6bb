"""Pages of own questions: list, write, versions, try, import, export. Accounts only; others' are 404."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.accounts.sessions import AccountRequest, sign_in_required
from interview.documents.uploading import oversized
from interview.plain_text import storable
from interview.questions import own_selectors, own_services
from interview.questions.content import Content, ContentRefused, content_from
from interview.questions.formats import json_format
from interview.questions.formats.raw import FileRefused
from interview.questions.formats.registry import FORMATS, format_of
from interview.questions.importing import BYTE_LIMIT, Preview, preview
from interview.questions.kinds import KIND
from interview.questions.models import Question
from interview.questions.own_forms import QuestionForm
from interview.questions.trying import samples_try, tried_samples
from interview.runs import selectors as runs
from interview.runs.services import QuotaExceeded

SENT_BACK_LIMIT = 3_500_000  # bytes of a preview that the confirming form sends again
page_with_form = require_http_methods(["GET", "HEAD", "POST"])


def _own(request: AccountRequest, question_id: str) -> Question:
    found = own_selectors.own_get(question_id, request.user)
    if found is None:
        raise Http404("No such question.")
    return found


@require_safe
@sign_in_required
def own_list(request: AccountRequest) -> HttpResponse:
    """One's own questions."""
    context = {"questions": own_selectors.own_list(request.user), "formats": FORMATS.values()}
    return render(request, "questions/own_list.html", context)


@page_with_form
@sign_in_required
def own_new(request: AccountRequest) -> HttpResponse:
    """Write a question."""
    return _write(request, None)


@page_with_form
@sign_in_required
def own_edit(request: AccountRequest, question_id: str) -> HttpResponse:
    """Change a question: what is saved becomes a new version."""
    return _write(request, _own(request, question_id))


def _write(request: AccountRequest, question: Question | None) -> HttpResponse:
    kept = own_selectors.content_of(question) if question else None
    if request.method != "POST":
        return _form_page(request, QuestionForm(content=kept), question)
    form = QuestionForm(_sent(request), more=request.POST.get("add", ""))
    if "add" in request.POST:
        return _form_page(request, form, question)
    uid = kept.uid if kept else own_services.new_uid()
    content = form.content(uid=uid, topics=own_selectors.topic_ids())
    if content is None:
        return _form_page(request, form, question, status=422)
    if "try" in request.POST:
        return _try(request, form, question, content)
    try:
        saved, changed = own_services.question_write(owner=request.user, content=content)
    except ContentRefused as refused:
        form.faults = refused.faults
        return _form_page(request, form, question, status=422)
    messages.success(request, "Saved." if changed else "Nothing was changed, so nothing was saved.")
    return redirect("questions:own_edit", question_id=saved.pk)


def _sent(request: HttpRequest) -> dict[str, str]:
    return {key: storable(value) for key, value in request.POST.items() if isinstance(value, str)}


def _try(
    request: AccountRequest, form: QuestionForm, question: Question | None, content: Content
) -> HttpResponse:
    """Grade the samples against what the form says now; nothing is saved."""
    try:
        run = samples_try(owner=request.user, content=content)
    except QuotaExceeded as full:
        form.head.add_error(None, str(full))
        return _form_page(request, form, question, status=429)
    return _form_page(request, form, question, run_id=str(run.pk))


def _form_page(
    request: AccountRequest,
    form: QuestionForm,
    question: Question | None,
    *,
    run_id: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "question": question,
        "versions": own_selectors.version_list(question)[:20] if question else [],
        **(_tried(request, run_id) if run_id else {}),
    }
    return render(request, "questions/own_form.html", context, status=status)


@require_safe
@sign_in_required
def own_tried(request: AccountRequest, run_id: uuid.UUID) -> HttpResponse:
    """The verdicts on the samples of one try, as a fragment of the form's page or alone."""
    template = "questions/_tried.html" if request.htmx else "questions/tried.html"  # type: ignore[attr-defined]
    return render(request, template, _tried(request, str(run_id)))


def _tried(request: AccountRequest, run_id: str) -> dict[str, object]:
    run = runs.run_get(uuid.UUID(run_id), request.user)
    if run is None or run.kind != KIND:
        raise Http404("No such try.")
    return {"run": run, "standing": runs.standing(run), "tried": tried_samples(run)}


@require_POST
@sign_in_required
def own_restore(request: AccountRequest, question_id: str, number: int) -> HttpResponse:
    """Bring an earlier version back; it becomes the newest."""
    question = _own(request, question_id)
    version = own_selectors.version_list(question).filter(number=number).first()
    if version is None:
        raise Http404("No such version.")
    content = content_from(version.body, topics=own_selectors.topic_ids())
    own_services.question_write(owner=request.user, content=content)
    messages.success(request, f"Version {number} is back.")
    return redirect("questions:own_edit", question_id=question.pk)


@page_with_form
@sign_in_required
def own_remove(request: AccountRequest, question_id: str) -> HttpResponse:
    """Ask, then remove a question; one that was answered stays readable for those who answered it."""
    question = _own(request, question_id)
    if request.method != "POST":
        return render(request, "questions/own_remove.html", {"question": question})
    gone = own_services.question_remove(question)
    messages.success(request, "Deleted." if gone else "Removed. Answers that were given to it are kept.")
    return redirect("questions:own_list")


@require_safe
@sign_in_required
def own_export(request: AccountRequest, format: str) -> HttpResponse:
    """One's own questions as a file; `?question=` narrows it to one."""
    known = FORMATS.get(format)
    if known is None:
        raise Http404("No such format.")
    questions = own_selectors.own_list(request.user).select_related("rubric")
    if wanted := request.GET.get("question"):
        questions = questions.filter(pk=storable(wanted)[:80])
    body = known.write(own_selectors.contents_of(questions))
    response = HttpResponse(body, content_type=known.mime)
    response["Content-Disposition"] = f'attachment; filename="prefill-questions{known.endings[0]}"'
    return response


@page_with_form
@sign_in_required
def own_import(request: AccountRequest) -> HttpResponse:
    """A file, what it would change, and only then the change."""
    if request.method != "POST":
        return _import_page(request)
    try:
        name, data = _upload(request)
        format = FORMATS["json"] if "confirm" in request.POST else format_of(name, data)
        found = _preview(request, format.name, data)
    except FileRefused as refused:
        return _import_page(request, problem=str(refused), status=422)
    if "confirm" not in request.POST or found.wrong:
        return _import_page(request, found=found, status=422 if found.wrong else 200)
    try:
        done = own_services.questions_import(owner=request.user, contents=found.contents)
    except ContentRefused as refused:
        return _import_page(request, found=found, problem=str(refused), status=422)
    messages.success(
        request, f"Imported: {done.made} new, {done.changed} changed, {done.unchanged} unchanged."
    )
    return redirect("questions:own_list")


def _upload(request: AccountRequest) -> tuple[str, bytes]:
    file = request.FILES.get("file")
    if oversized(request) or (isinstance(file, UploadedFile) and (file.size or 0) > BYTE_LIMIT):
        raise FileRefused(f"The file is larger than {BYTE_LIMIT // 10**6} MB. Split it.")
    if isinstance(file, UploadedFile):
        return file.name or "", file.read()
    text = storable(request.POST.get("text", ""))
    if not text.strip():
        raise FileRefused("Choose a file, or paste its text.")
    return "", text.encode("utf-8")


def _preview(request: AccountRequest, format: str, data: bytes) -> Preview:
    found = preview(
        FORMATS[format],
        data,
        topics=own_selectors.topic_ids(),
        known=own_selectors.uids_with_hashes(request.user),
    )
    if len(json_format.write(found.contents)) > SENT_BACK_LIMIT:
        raise FileRefused("That is too much for one import. Split the file.")
    return found


def _import_page(
    request: AccountRequest, *, found: Preview | None = None, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {
        "preview": found,
        "problem": problem,
        "formats": FORMATS.values(),
        "text": storable(request.POST.get("text", "")) if problem or (found and found.wrong) else "",
        "data": json_format.write(found.contents).decode() if found and found.contents else "",
        "counts": [(state, found.count(state)) for state in ("new", "changed", "unchanged", "wrong")]
        if found
        else [],
    }
    return render(request, "questions/own_import.html", context, status=status)
