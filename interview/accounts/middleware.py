"""Two small layers: personal tokens for the API, and each user's own time zone."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from interview.accounts.selectors import api_token_owner

Handler = Callable[[HttpRequest], HttpResponse]


class BearerTokenMiddleware:
    """`Authorization: Bearer …` signs the request in, on API addresses only, and needs no CSRF token.

    A token that is wrong leaves the request anonymous and marked, so that the API answers 401.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and request.path.startswith(("/api/", "/v1/")):
            owner = api_token_owner(secret.strip())
            request.token_refused = owner is None  # type: ignore[attr-defined]
            if owner is not None:
                request.user = owner
                request.by_token = True  # type: ignore[attr-defined]
        return self.get_response(request)


class TimeZoneMiddleware:
    """Show times in the signed-in user's zone; everything is stored in UTC."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            with timezone.override(zoneinfo.ZoneInfo(request.user.time_zone)):
                return self.get_response(request)
        return self.get_response(request)
