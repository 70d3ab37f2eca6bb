"""One's own account: name, zone, address, data to take along, and leaving."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import IO

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from interview import limits
from interview.accounts import mail, services
from interview.accounts.export import export_file
from interview.accounts.forms import DeleteForm, EmailChangeForm, ProfileForm
from interview.accounts.models import User
from interview.accounts.owners import owner_of
from interview.accounts.sessions import AccountRequest, sign_in_required

EMAIL_SALT = "accounts.email-change"
EMAIL_LINK_SECONDS = 24 * 3600
PART = 64 * 1024

page_with_form = require_http_methods(["GET", "HEAD", "POST"])


@never_cache
@page_with_form
def profile(request: HttpRequest) -> HttpResponseBase:
    """The account; a guest sees what is kept here and how to keep it for good."""
    if not request.user.is_authenticated and request.method != "POST":
        return render(request, "accounts/guest.html", {"guest": owner_of(request)})
    return _profile_form(request)


@sign_in_required
def _profile_form(request: AccountRequest) -> HttpResponse:
    user = request.user
    form = ProfileForm(request.POST or None, initial={"name": user.name, "time_zone": user.time_zone})
    if form.is_valid():
        services.profile_update(user=user, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("accounts:profile")
    context = {"form": form, "account": user}
    return render(request, "accounts/profile.html", context, status=422 if form.errors else 200)


@never_cache
@page_with_form
@limits.limited
@sign_in_required
def email_change(request: AccountRequest) -> HttpResponse:
    """Ask for another address: a letter goes there, and nothing changes before it is answered."""
    if request.method == "POST":
        limits.authorize_password_check(request.user.pk)
    form = EmailChangeForm(request.POST or None, user=request.user)
    if form.is_valid():
        limits.authorize_email_change(request.user.pk)
        _send_email_link(request, form.cleaned_data["email"])
        messages.info(
            request,
            f"A letter is on its way to {form.cleaned_data['email']}. Open the link in it within a day.",
        )
        return redirect("accounts:profile")
    return render(request, "accounts/email_change.html", {"form": form}, status=422 if form.errors else 200)


def _send_email_link(request: AccountRequest, email: str) -> None:
    """No letter to an address that has an account; the page says the same either way."""
    if User.objects.filter(email=email).exists():
        return
    claim = signing.dumps({"user": request.user.pk, "old": request.user.email, "new": email}, salt=EMAIL_SALT)
    link = request.build_absolute_uri(reverse("accounts:email_confirm", args=[claim]))
    subject = "Confirm your new address for Prefill"
    mail.send_soon(
        mail.letter(to=email, subject=subject, template="email_confirm.txt", context={"link": link})
    )


@never_cache
@page_with_form
@sign_in_required
def email_confirm(request: AccountRequest, claim: str) -> HttpResponse:
    """The link in the letter: a button does it, for mail programs open links by themselves."""
    old, new = request.user.email, _claimed_email(request.user, claim)
    if new is None:
        return render(request, "accounts/email_confirm.html", {"new": None}, status=410)
    if request.method != "POST":
        return render(request, "accounts/email_confirm.html", {"new": new})
    try:
        services.email_change(user=request.user, email=new)
    except services.EmailTaken as refusal:
        messages.error(request, str(refusal))
    else:
        subject = "Your address for Prefill was changed"
        mail.send_soon(
            mail.letter(to=old or new, subject=subject, template="email_changed.txt", context={"new": new})
        )
        messages.success(request, f"Your address is {new} now.")
    return redirect("accounts:profile")


def _claimed_email(user: User, claim: str) -> str | None:
    """The new address in a link that is signed, fresh, this account's and not used yet."""
    try:
        content = signing.loads(claim, salt=EMAIL_SALT, max_age=EMAIL_LINK_SECONDS)
    except signing.BadSignature:
        return None
    return str(content["new"]) if (content["user"], content["old"]) == (user.pk, user.email) else None


@never_cache
@require_safe
@limits.limited
def export(request: HttpRequest) -> HttpResponseBase:
    """Everything one owns here as a JSON file; guests too."""
    owner = owner_of(request)
    if owner is None:
        raise Http404("There is nothing of yours to export yet.")
    limits.authorize_export(owner.pk)
    file = export_file(owner)
    response = StreamingHttpResponse(_parts(file), content_type="application/json")
    name = f"prefill-{timezone.now():%Y-%m-%d}.json"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Content-Length"] = str(file.tell())
    return response


async def _parts(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        await sync_to_async(file.seek)(0)
        while part := await sync_to_async(file.read)(PART):
            yield part


@never_cache
@page_with_form
def delete(request: HttpRequest) -> HttpResponseBase:
    """Delete the account, or what a guest left here, after typing what is asked for."""
    owner = owner_of(request)
    if owner is None:
        raise Http404("There is nothing of yours to delete.")
    form = DeleteForm(request.POST or None, owner=owner)
    if form.is_valid():
        try:
            services.account_delete(owner=owner)
        except services.CannotLeave as refusal:
            form.add_error(None, str(refusal))
        else:
            request.session.flush()
            messages.success(request, "Everything you had here is deleted.")
            return redirect("home")
    context = {"form": form, "owner": owner}
    return render(request, "accounts/delete.html", context, status=422 if form.errors else 200)
