"""Two small layers: personal tokens for the API, and each user's own time zone."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.selectors import api_token_owner

Handler = Callable[[HttpRequest], HttpResponse]
API_PATHS = ("/api/", "/v1/")
REFUSED = "This API token is wrong or was revoked. Make one under /account/tokens/."


class BearerTokenMiddleware:
    """`Authorization: Bearer …` signs the request in, on API addresses only, and needs no CSRF token.

    The token decides alone: a session cookie sent with it counts for nothing, and a wrong token is a 401.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not request.path.startswith(API_PATHS):
            return self.get_response(request)
        owner = api_token_owner(secret.strip())
        if owner is None:
            return token_refused(request)
        sign_in_by_token(request, owner)
        return self.get_response(request)


def sign_in_by_token(request: Any, owner: User) -> None:
    """Make the token's owner the user of this request. Browsers never add the header by themselves, so no CSRF."""

    async def auser() -> User:
        return owner

    request.user = owner
    request.auser = auser
    request.by_token = True
    request._dont_enforce_csrf_checks = True


def token_refused(request: HttpRequest) -> JsonResponse:
    """401 with a stable code, in OpenAI's shape on its addresses."""
    body: dict[str, Any] = {"code": "invalid_token", "message": REFUSED}
    if request.path.startswith("/v1/"):
        body = {
            "error": {
                "message": REFUSED,
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_api_key",
            }
        }
    return JsonResponse(body, status=401, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})


class TimeZoneMiddleware:
    """Show times in the signed-in user's zone; everything is stored in UTC."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            with timezone.override(zone_of(request.user)):
                return self.get_response(request)
        return self.get_response(request)


def zone_of(user: User) -> zoneinfo.ZoneInfo:
    """A user's zone; UTC when the zone database no longer knows it."""
    try:
        return zoneinfo.ZoneInfo(user.time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")
