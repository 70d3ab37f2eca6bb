"""Who calls the API: a session (with CSRF) or a personal token."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from ninja.security import APIKeyCookie

from interview.accounts.models import User
from interview.accounts.owners import owner_of


class SessionOrToken(APIKeyCookie):
    param_name = settings.SESSION_COOKIE_NAME

    def authenticate(self, request: HttpRequest, key: str | None) -> User | None:
        return owner_of(request)


session_or_token = SessionOrToken()
