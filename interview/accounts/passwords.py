"""Change a password, or choose a new one by a letter to one's address."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from interview import limits
from interview.accounts import services
from interview.accounts.forms import NewPasswordForm, PasswordChangeForm, PasswordResetForm
from interview.accounts.sessions import AccountRequest, sign_in_required

page_with_form = require_http_methods(["GET", "HEAD", "POST"])


@never_cache
@sensitive_post_parameters()
@page_with_form
@limits.limited
@sign_in_required
def password_change(request: AccountRequest) -> HttpResponse:
    """A new password; this browser stays signed in, every other one is signed out."""
    if request.method == "POST":
        limits.authorize_password_check(request.user.pk)
    form = PasswordChangeForm(request.POST or None, user=request.user)
    if form.is_valid():
        services.password_set(user=request.user, password=form.cleaned_data["new_password"])
        update_session_auth_hash(request, request.user)
        messages.success(request, "Your password is changed. Other browsers are signed out.")
        return redirect("accounts:profile")
    context = {"form": form}
    return render(request, "accounts/password_change.html", context, status=422 if form.errors else 200)


@never_cache
@page_with_form
@limits.limited
def password_reset(request: HttpRequest) -> HttpResponse:
    """Ask for the letter. The answer is the same whether the address has an account or not."""
    form = PasswordResetForm(request.POST or None)
    if form.is_valid():
        limits.authorize_password_reset(request, form.cleaned_data["email"])
        form.save(request=request, use_https=request.is_secure())
        return redirect("accounts:password_reset_done")
    context = {"form": form}
    return render(request, "accounts/password_reset.html", context, status=422 if form.errors else 200)


@require_safe
def password_reset_done(request: HttpRequest) -> HttpResponse:
    """The letter is on its way, if the address has an account."""
    return render(request, "accounts/password_reset_done.html")


class NewPassword(PasswordResetConfirmView):
    """Django's check of the link; the token leaves the address bar before the form is shown."""

    form_class = NewPasswordForm  # type: ignore[assignment]  # any form with save() does
    template_name = "accounts/password_reset_confirm.html"
    success_url = reverse_lazy("accounts:password_reset_complete")

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 422
        return response


@page_with_form
def password_reset_confirm(request: HttpRequest, uidb64: str, token: str) -> HttpResponseBase:
    """Choose the new password. Personal API tokens are revoked, for they may not be the owner's."""
    return NewPassword.as_view()(request, uidb64=uidb64, token=token)


@require_safe
def password_reset_complete(request: HttpRequest) -> HttpResponse:
    """Done; sign in with it."""
    return render(request, "accounts/password_reset_complete.html")
