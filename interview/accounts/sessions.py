"""The browser's session: signing in keeps what it holds, and a lost one loses nothing typed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypedDict
from urllib.parse import urlencode

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

from interview.accounts.models import User
from interview.accounts.owners import GUEST_KEY, guest_of
from interview.accounts.services import Adoption, account_adopt

BACKEND = "django.contrib.auth.backends.ModelBackend"
TYPED_KEY = "typed"
TYPED_LIMIT = 500_000  # characters kept over a sign-in; a longer form says that it wasn't kept
NEXT_LIMIT = 2_000  # characters of an address to go on to
SHOWN_FROM = 40  # characters; a single word longer than an idempotency key was typed by somebody
NEVER_KEPT = ("csrfmiddlewaretoken",)

View = Callable[..., HttpResponseBase]


class AccountRequest(HttpRequest):
    """What a view behind `sign_in_required` gets."""

    user: User


class Typed(TypedDict):
    """A form that was sent after its session had ended."""

    path: str
    fields: list[tuple[str, str]]
    had_files: bool
    too_long: bool


def session_begin(request: HttpRequest, user: User) -> Adoption:
    """Sign somebody in under a fresh session key; what this browser's guest did becomes theirs."""
    guest = guest_of(request)
    adoption = account_adopt(guest=guest, user=user) if guest is not None else Adoption(0, ())
    login(request, user, backend=BACKEND)
    request.session.pop(GUEST_KEY, None)
    return adoption


def safe_next(request: HttpRequest, default: str) -> str:
    """Where `next` asks to go, if that is a page of this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    allowed = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    plain = wanted.startswith("/") and wanted.isprintable() and len(wanted) <= NEXT_LIMIT
    return wanted if allowed and plain else default


def sign_in_required(view: View) -> View:
    """Only for accounts: others sign in first and come back; a form they sent is kept in the session."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            _sent_again(request)
            return view(request, *args, **kwargs)
        if request.method == "POST":
            request.session[TYPED_KEY] = _typed(request)
            return _to_sign_in(request, reverse("accounts:typed"))
        htmx = getattr(request, "htmx", None)
        page = htmx.current_url_abs_path if htmx else None
        return _to_sign_in(request, page or request.get_full_path())

    return guarded


def _to_sign_in(request: HttpRequest, then: str) -> HttpResponse:
    address = f"{reverse('accounts:sign_in')}?{urlencode({'next': then})}"
    if getattr(request, "htmx", None):
        return HttpResponseClientRedirect(address)
    return redirect(address)


def _typed(request: HttpRequest) -> Typed:
    fields = [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name not in NEVER_KEPT and "password" not in name and isinstance(value, str)
    ]
    too_long = sum(len(name) + len(value) for name, value in fields) > TYPED_LIMIT
    return Typed(
        path=request.get_full_path(),
        fields=[] if too_long else fields,
        had_files=bool(request.FILES),
        too_long=too_long,
    )


def _sent_again(request: HttpRequest) -> None:
    """A kept form is forgotten once it was sent with a session."""
    kept = request.session.get(TYPED_KEY)
    if kept is not None and request.method == "POST" and kept["path"] == request.get_full_path():
        del request.session[TYPED_KEY]


def typed_fields(fields: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """A kept form's fields for its page: what reads like text is shown, ids and keys go along hidden."""
    return [
        {
            "name": name,
            "value": value,
            "label": name.replace("_", " ").replace("-", " ").capitalize(),
            "shown": len(value) > SHOWN_FROM or any(character.isspace() for character in value),
            "rows": min(12, 2 + value.count("\n") + len(value) // 80),
        }
        for name, value in fields
    ]
