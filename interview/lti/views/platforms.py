"""Registering platforms, and what they read about this site."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from interview.accounts.sessions import AccountRequest
from interview.lti import platforms as services
from interview.lti.forms import PlatformDetailsForm, PlatformForm
from interview.lti.keys import key_set as public_keys
from interview.lti.models import Platform
from interview.lti.views.guards import while_on
from interview.teaching.views.pages import fills, reads, writes


@while_on
@require_safe
def key_set(request: HttpRequest) -> JsonResponse:
    """The public keys that this site signs with."""
    return JsonResponse(public_keys())


@while_on
@require_safe
def canvas_config(request: HttpRequest, platform_id: uuid.UUID) -> JsonResponse:
    """The configuration for a Canvas developer key; it holds no secret."""
    return JsonResponse(services.canvas_config(get_object_or_404(Platform, pk=platform_id)))


@while_on
@reads
def platform_list(request: AccountRequest) -> HttpResponse:
    """One's platforms."""
    rows = Platform.objects.filter(owner=request.user)
    return render(request, "lti/platform_list.html", {"platforms": rows})


@while_on
@fills
def platform_create(request: AccountRequest) -> HttpResponse:
    """Register a platform."""
    form = PlatformForm(request.POST or None)
    if form.is_valid():
        made = services.platform_create(owner=request.user, **form.cleaned_data)
        return redirect("lti:platform", platform_id=made.pk)
    return render(request, "lti/platform_create.html", {"form": form}, status=422 if form.errors else 200)


def _own(request: AccountRequest, platform_id: uuid.UUID) -> Platform:
    found = Platform.objects.filter(pk=platform_id, owner=request.user).first()
    if found is None:
        raise Http404("No such platform.")
    return found


@while_on
@fills
def platform(request: AccountRequest, platform_id: uuid.UUID) -> HttpResponse:
    """What the platform needs to know of this site, and this site of it."""
    row = _own(request, platform_id)
    fields = ("name", "client_id", "issuer", "login_url", "token_url", "keys_url")
    initial = {name: getattr(row, name) for name in fields} | {"deployments": "\n".join(row.deployments)}
    form = PlatformDetailsForm(request.POST or None, initial=initial)
    if form.is_valid():
        services.platform_update(platform=row, **form.cleaned_data)
        messages.success(request, "Saved. Launches from these deployments come in now.")
        return redirect("lti:platform", platform_id=row.pk)
    context = {
        "platform": row,
        "form": form,
        "here": services.addresses(row),
        "courses": row.courses.select_related("classroom"),
    }
    return render(request, "lti/platform.html", context, status=422 if form.errors else 200)


@while_on
@writes
def platform_delete(request: AccountRequest, platform_id: uuid.UUID) -> HttpResponse:
    """Forget a platform."""
    row = _own(request, platform_id)
    services.platform_delete(platform=row)
    messages.success(
        request, f"Nobody comes in from {row.name} any more. Classes, accounts and work are kept."
    )
    return redirect("lti:platform_list")
