"""What the views of this room share: their request, their decorators, how a refusal is told."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.accounts.sessions import AccountRequest, safe_next, sign_in_required
from interview.teaching.errors import TeachingRefused

View = Callable[..., HttpResponseBase]


def _told(view: View) -> View:
    """A refusal nobody handled becomes a message on the page one came from, or a 409 page."""

    @wraps(view)
    def guarded(request: AccountRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except TeachingRefused as refusal:
            then = safe_next(request, "")
            if request.method == "POST" and then:
                messages.error(request, str(refusal))
                return redirect(then)
            return refused(request, refusal)

    return guarded


def refused(request: AccountRequest, refusal: TeachingRefused) -> HttpResponse:
    """The page of a refusal that has no form to come back to."""
    return render(request, "teaching/refused.html", {"message": str(refusal)}, status=409)


def reads(view: View) -> View:
    """GET by an account; personal, so never stored on the way."""
    return require_safe(never_cache(sign_in_required(_told(view))))


def writes(view: View) -> View:
    """POST by an account."""
    return require_POST(never_cache(sign_in_required(_told(view))))


def fills(view: View) -> View:
    """A page with a form, by an account."""
    return require_http_methods(["GET", "HEAD", "POST"])(never_cache(sign_in_required(_told(view))))
