"""An API of its own for the tests of authentication, with a GET and a POST, and one plain view."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path
from ninja import NinjaAPI

from interview.accounts.api import router
from interview.accounts.api_auth import account_or_token, install_error_answers, session_or_token
from interview.urls import urlpatterns as site

api = NinjaAPI(urls_namespace="auth-test", docs_url=None)
api.add_router("", router)
install_error_answers(api)


@api.post("/echo", auth=session_or_token)
def echo(request: HttpRequest) -> dict[str, int]:
    return {"owner": request.auth.pk}  # type: ignore[attr-defined]


@api.post("/accounts-only", auth=account_or_token)
def accounts_only(request: HttpRequest) -> dict[str, int]:
    return {"owner": request.auth.pk}  # type: ignore[attr-defined]


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(request.user.pk))


urlpatterns = [path("api/test/", api.urls), path("v1/plain", plain), path("elsewhere", plain), *site]
