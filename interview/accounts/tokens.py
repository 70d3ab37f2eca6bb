"""Personal tokens for the API: made, told once, listed, revoked."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from interview.accounts import services
from interview.accounts.forms import TokenForm
from interview.accounts.selectors import token_list
from interview.accounts.sessions import AccountRequest, sign_in_required


@never_cache
@require_safe
@sign_in_required
def tokens(request: AccountRequest) -> HttpResponse:
    """One's tokens and the form for another."""
    return _page(request, TokenForm())


@never_cache
@require_POST
@sign_in_required
def token_create(request: AccountRequest) -> HttpResponse:
    """Make a token and show its secret, this once: no redirect, so that it is stored nowhere on the way."""
    form = TokenForm(request.POST)
    if form.is_valid():
        try:
            token, secret = services.token_create(owner=request.user, name=form.cleaned_data["name"])
        except services.TokenRefused as refusal:
            form.add_error("name", str(refusal))
        else:
            return _page(request, TokenForm(), new=token.name, secret=secret)
    return _page(request, form)


@require_POST
@sign_in_required
def token_revoke(request: AccountRequest, token_id: int) -> HttpResponse:
    """Revoke a token: from now on it opens nothing."""
    if not services.token_revoke(owner=request.user, token_id=token_id):
        raise Http404("No such token.")
    messages.success(request, "The token is revoked.")
    return redirect("accounts:tokens")


def _page(request: AccountRequest, form: TokenForm, *, new: str = "", secret: str = "") -> HttpResponse:
    context = {
        "form": form,
        "tokens": token_list(request.user),
        "new": new,
        "secret": secret,
        "api": request.build_absolute_uri("/api/v1/me"),
    }
    return render(request, "accounts/tokens.html", context, status=422 if form.errors else 200)
