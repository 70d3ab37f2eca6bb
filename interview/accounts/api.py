"""Who am I, for programs."""

from __future__ import annotations

from typing import Literal

from django.http import HttpRequest
from ninja import Router, Schema

from interview.accounts.api_auth import session_or_token

router = Router(tags=["account"])


class Me(Schema):
    """The owner behind the request."""

    email: str | None
    name: str
    time_zone: str
    guest: bool
    signed_in_by: Literal["token", "session"]


class Refusal(Schema):
    """An error with a stable code."""

    code: str
    message: str


@router.get("/me", response={200: Me, 401: Refusal}, auth=session_or_token)
def me(request: HttpRequest) -> Me:
    """The account or guest this request acts for."""
    owner = request.auth  # type: ignore[attr-defined]
    return Me(
        email=owner.email,
        name=owner.name,
        time_zone=owner.time_zone,
        guest=owner.is_guest,
        signed_in_by="token" if getattr(request, "by_token", False) else "session",
    )
