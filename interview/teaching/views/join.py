"""Coming in by a code, a link or a letter."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from interview.accounts.sessions import AccountRequest, sign_in_required
from interview.teaching.errors import TeachingRefused
from interview.teaching.forms.classes import CodeForm
from interview.teaching.selectors import classes as selectors
from interview.teaching.services import links, roster

page_with_form = require_http_methods(["GET", "HEAD", "POST"])


@never_cache
@page_with_form
def join_code(request: HttpRequest) -> HttpResponse:
    """Where a code is typed in."""
    form = CodeForm(request.POST or None)
    if form.is_valid():
        link = selectors.link_by_code(form.cleaned_data["code"])
        if link is not None:
            return redirect("teaching:join", code=link.code)
        form.add_error("code", "No class has this code. Check it with your teacher.")
    return render(request, "teaching/join_code.html", {"form": form}, status=422 if form.errors else 200)


@never_cache
@page_with_form
def join(request: HttpRequest, code: str) -> HttpResponseBase:
    """What the link leads to; joining is a button, so that a preview robot joins nothing."""
    link = selectors.link_by_code(code)
    if link is None:
        raise Http404("No class has this link.")
    if request.method == "POST":
        return _join(request, code)
    context = {"link": link, "is_open": link.is_open(), "classroom": link.classroom}
    return render(request, "teaching/join.html", context)


@sign_in_required
def _join(request: AccountRequest, code: str) -> HttpResponse:
    link = selectors.link_by_code(code)
    assert link is not None
    try:
        seat, is_new = links.class_join(link=link, user=request.user)
    except TeachingRefused as refusal:
        context = {"link": link, "is_open": False, "classroom": link.classroom, "error": str(refusal)}
        return render(request, "teaching/join.html", context, status=409)
    if is_new:
        messages.success(request, f"You are in {link.classroom.name}.")
    else:
        messages.info(request, f"You are already in {link.classroom.name}.")
    return redirect("teaching:class_page", class_id=seat.classroom_id)


@never_cache
@page_with_form
@sign_in_required
def join_invited(request: AccountRequest, token: str) -> HttpResponse:
    """The seat that a letter offers."""
    entry = roster.invitation_entry(token)
    if entry is None:
        return render(request, "teaching/invitation_gone.html", status=410)
    if request.method == "POST":
        seat = links.invitation_accept(entry=entry, user=request.user)
        messages.success(request, f"You are in {entry.classroom.name}.")
        return redirect("teaching:class_page", class_id=seat.classroom_id)
    return render(
        request, "teaching/join.html", {"classroom": entry.classroom, "entry": entry, "is_open": True}
    )
