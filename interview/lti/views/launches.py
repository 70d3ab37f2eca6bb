"""A launch: the platform's two steps, whose account it is, and where it goes."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST
from pylti1p3.contrib.django.cookie import DjangoCookieService
from pylti1p3.contrib.django.request import DjangoRequest

from interview.accounts.models import User
from interview.accounts.sessions import session_begin
from interview.lti import arriving
from interview.lti.claims import Launched
from interview.lti.errors import LaunchRefused
from interview.lti.models import Launch, Platform, PlatformAccount
from interview.lti.platforms import addresses
from interview.lti.tool import launch_validate, login_begin
from interview.lti.views.guards import FAULTS, launch_refused, while_on

page_with_form = require_http_methods(["GET", "HEAD", "POST"])


@while_on
@never_cache
@csrf_exempt
@xframe_options_exempt
@page_with_form
def login(request: HttpRequest, platform_id: uuid.UUID) -> HttpResponseBase:
    """The platform's first step. Inside a frame a browser keeps no cookie of ours, so a new window is offered."""
    platform = get_object_or_404(Platform, pk=platform_id)
    if request.headers.get("Sec-Fetch-Dest") in ("iframe", "frame"):
        return _new_window(request, platform)
    if not platform.ready:
        return launch_refused(
            request, LaunchRefused(f"“{platform.name}” has no client id or deployment here yet.")
        )
    try:
        answer: HttpResponse = login_begin(request, platform, addresses(platform)["launch"])
    except FAULTS as error:
        return launch_refused(request, error)
    return answer


def _new_window(request: HttpRequest, platform: Platform) -> HttpResponse:
    asked = request.GET.copy()
    asked.update(request.POST)
    address = f"{reverse('lti:login', args=[platform.pk])}?{asked.urlencode()}"
    answer = render(request, "lti/new_window.html", {"address": address})
    answer._csp_replace = {"frame-ancestors": ["*"]}  # type: ignore[attr-defined]  # django-csp reads it
    return answer


@while_on
@never_cache
@csrf_exempt
@require_POST
def launch(request: HttpRequest, platform_id: uuid.UUID) -> HttpResponseBase:
    """The platform's second step. The session's cookie doesn't come with a form from elsewhere: the next page has it."""
    platform = get_object_or_404(Platform, pk=platform_id)
    try:
        found = launch_validate(request, platform)
    except FAULTS as error:
        return launch_refused(request, error)
    return redirect("lti:enter", state=found.state)


def _arriving(request: HttpRequest, state: str) -> tuple[Launch, Launched]:
    """The launch of this browser. Raises LaunchRefused for another's, and for one that is over."""
    cookie = DjangoCookieService(DjangoRequest(request)).get_cookie(state)
    found = arriving.launch_get(state) if cookie == state else None
    if found is None:
        raise LaunchRefused("This launch is over. Open the link in your course again.")
    return found


@while_on
@never_cache
@page_with_form
def enter(request: HttpRequest, state: str) -> HttpResponseBase:
    """Whose account it is: the one that came before, or, asked first where the browser is signed in as somebody."""
    try:
        launch, who = _arriving(request, state)
        known = arriving.account_of(launch.platform, who.sub)
        signed_in = request.user if isinstance(request.user, User) else None
        if signed_in is not None and (known is None or known.owner_id != signed_in.pk):
            known = _asked(request, launch, who, known, signed_in)
            if known is None:
                context = {
                    "launch": launch,
                    "who": who,
                    "account": arriving.account_of(launch.platform, who.sub),
                }
                return render(request, "lti/enter.html", context)
        if known is None:
            known = arriving.account_make(platform=launch.platform, who=who)
    except LaunchRefused as error:
        return launch_refused(request, error)
    if not known.owner.is_active:
        return launch_refused(request, LaunchRefused("This account is closed."))
    if signed_in is None or signed_in.pk != known.owner_id:
        session_begin(request, known.owner)
    return redirect("lti:place", state=state)


def _asked(
    request: HttpRequest, launch: Launch, who: Launched, known: PlatformAccount | None, signed_in: User
) -> PlatformAccount | None:
    """What was chosen; None while nothing was."""
    choice = request.POST.get("choice") if request.method == "POST" else None
    if choice == "switch":
        return known or arriving.account_make(platform=launch.platform, who=who)
    if choice == "link" and known is None:
        return arriving.account_link(platform=launch.platform, who=who, user=signed_in)
    return None


def place_context(launch: Launch, who: Launched, **more: Any) -> dict[str, Any]:
    """What the pages on the way show."""
    return {"launch": launch, "who": who, **more}


def arriving_of(request: HttpRequest, state: str) -> tuple[Launch, Launched]:
    """The launch of this browser, whose account is signed in. Raises LaunchRefused."""
    launch, who = _arriving(request, state)
    known = arriving.account_of(launch.platform, who.sub)
    if known is None or not request.user.is_authenticated or known.owner_id != request.user.pk:
        raise LaunchRefused("Somebody else is signed in now. Open the link in your course again.")
    return launch, who
