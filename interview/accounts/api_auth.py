"""Who may call the API: a personal token, or the browser's own session with its CSRF token."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from interview.accounts.models import User
from interview.accounts.owners import owner_of


class ApiRefused(HttpError):
    """An answer with a stable `code` for programs and a `message` for people."""

    def __init__(self, status_code: int, code: str, message: str) -> None:
        super().__init__(status_code, message)
        self.code = code


class SessionOrToken(AuthBase):
    """The owner behind a request: a token's (checked by the middleware), a session's, or this browser's guest.

    `accounts_only` refuses guests.
    """

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, *, accounts_only: bool = False) -> None:
        super().__init__()
        self.accounts_only = accounts_only

    def __call__(self, request: HttpRequest) -> User | None:
        owner = owner_of(request)
        if owner is None or (owner.is_guest and self.accounts_only):
            return None
        if not getattr(request, "by_token", False):
            self._require_csrf(request)
        return owner

    def _require_csrf(self, request: HttpRequest) -> None:
        if check_csrf(request) is not None:
            raise ApiRefused(
                403, "csrf", "Send the CSRF token of the page as X-CSRFToken, or use an API token instead."
            )


session_or_token = SessionOrToken()
account_or_token = SessionOrToken(accounts_only=True)


def install_error_answers(api: NinjaAPI) -> None:
    """Give an API the answer for `ApiRefused`: {"code", "message"}."""

    @api.exception_handler(ApiRefused)
    def refused(request: HttpRequest, error: Any) -> HttpResponse:
        return api.create_response(
            request, {"code": error.code, "message": str(error)}, status=error.status_code
        )
