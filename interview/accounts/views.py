"""The doors: sign up, sign in, sign out, and what was typed while the session was gone."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import authenticate, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview import limits
from interview.accounts import services
from interview.accounts.forms import SignInForm, SignUpForm
from interview.accounts.models import User
from interview.accounts.owners import guest_of
from interview.accounts.services import Adoption
from interview.accounts.sessions import TYPED_KEY, safe_next, session_begin, sign_in_required, typed_fields

page_with_form = require_http_methods(["GET", "HEAD", "POST"])


@never_cache
@sensitive_post_parameters("password")
@page_with_form
@limits.limited
def sign_up(request: HttpRequest) -> HttpResponse:
    """Make an account; what this browser's guest did is in it."""
    then = safe_next(request, reverse("home"))
    if request.user.is_authenticated:
        return redirect(then)
    form = SignUpForm(request.POST or None)
    if form.is_valid():
        limits.authorize_sign_up(request)
        guest = guest_of(request)
        try:
            user = services.account_create(**form.cleaned_data, guest=guest)
        except services.EmailTaken as refusal:
            form.add_error("email", str(refusal))
        else:
            session_begin(request, user)
            kept = " What you did before signing up is in it." if guest else ""
            messages.success(request, f"Your account is ready.{kept}")
            return redirect(then)
    return _door(request, "accounts/sign_up.html", form, then)


@never_cache
@sensitive_post_parameters("password")
@page_with_form
@limits.limited
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in to an account; what this browser's guest did moves there."""
    then = safe_next(request, reverse("home"))
    if request.user.is_authenticated:
        return redirect(then)
    form = SignInForm(request.POST or None)
    if form.is_valid():
        email, password = form.cleaned_data["email"], form.cleaned_data["password"]
        limits.authorize_sign_in(request, email)
        user = authenticate(request, username=email, password=password)
        if isinstance(user, User):
            limits.sign_in_succeeded(request, email)
            _tell_adoption(request, session_begin(request, user))
            return redirect(then)
        form.add_error(
            None, "That address and password don't go together. Check both, or reset the password."
        )
    return _door(request, "accounts/sign_in.html", form, then)


def _door(request: HttpRequest, template: str, form: SignUpForm | SignInForm, then: str) -> HttpResponse:
    context = {"form": form, "next": then, "typed": TYPED_KEY in request.session}
    return render(request, template, context, status=422 if form.errors else 200)


def _tell_adoption(request: HttpRequest, adoption: Adoption) -> None:
    if adoption.kept:
        messages.warning(
            request,
            f"{len(adoption.kept)} of the things you did here as a guest were in your account already. "
            "Both versions are in the export of your data.",
        )
    elif adoption.n_moved:
        messages.success(request, "Signed in. What you did here as a guest is in your account now.")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    messages.info(request, "You are signed out.")
    return redirect("home")


@never_cache
@require_safe
@sign_in_required
def typed(request: HttpRequest) -> HttpResponse:
    """A form that was sent while nobody was signed in, ready to be sent again."""
    waiting = request.session.get(TYPED_KEY)
    context = {
        "waiting": waiting is not None,
        "fields": typed_fields(waiting["fields"]) if waiting else [],
        "path": waiting["path"] if waiting else "",
        "had_files": bool(waiting and waiting["had_files"]),
        "too_long": bool(waiting and waiting["too_long"]),
    }
    return render(request, "accounts/typed.html", context)


@require_POST
@sign_in_required
def typed_discard(request: HttpRequest) -> HttpResponse:
    """Forget it."""
    request.session.pop(TYPED_KEY, None)
    messages.info(request, "Discarded.")
    return redirect("home")
