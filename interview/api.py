"""The JSON API at /api/v1/: thin handlers over services, selectors and formulas."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from interview.accounts.api import router as accounts
from interview.accounts.api_auth import install_error_answers
from interview.calculators.api import router as calculators
from interview.documents.api import router as documents
from interview.practice.api import router as practice
from interview.practice.services import AnswerRefused
from interview.questions.api import router as questions
from interview.runs.api import router as runs
from interview.runs.kinds import InputRefused
from interview.runs.services import IdempotencyConflict, QuotaExceeded
from interview.teaching.api import router as teaching

api = NinjaAPI(title="Prefill", version="1", urls_namespace="api", docs_url=None)
for router in (accounts, calculators, questions, practice, runs, documents, teaching):
    api.add_router("", router)


def _problem(request: HttpRequest, status: int, code: str, message: str) -> HttpResponse:
    return api.create_response(request, {"code": code, "message": message}, status=status)


@api.exception_handler(HttpError)
def malformed(request: HttpRequest, error: HttpError) -> HttpResponse:
    """A body that is no JSON, and whatever else the framework itself refuses."""
    return _problem(request, error.status_code, "malformed", str(error))


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """422 with a place and a message for each fault."""
    detail = [{"loc": list(fault["loc"]), "msg": fault["msg"]} for fault in error.errors]
    return api.create_response(request, {"code": "invalid", "detail": detail}, status=422)


@api.exception_handler(InputRefused)
def input_refused(request: HttpRequest, error: InputRefused) -> HttpResponse:
    """422: the run's input can't be used."""
    detail = [{"loc": ["body", "input", *error.loc], "msg": str(error)}]
    return api.create_response(request, {"code": error.code, "detail": detail}, status=422)


@api.exception_handler(AnswerRefused)
def answer_refused(request: HttpRequest, error: AnswerRefused) -> HttpResponse:
    """422: the answer can't be taken."""
    detail = [{"loc": ["body", "answer"], "msg": str(error)}]
    return api.create_response(request, {"code": "answer_refused", "detail": detail}, status=422)


@api.exception_handler(AuthenticationError)
def unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    """401: no session and no valid token."""
    message = "Sign in, or send `Authorization: Bearer` with a personal token from your account page."
    response = _problem(request, 401, "unauthenticated", message)
    response["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(Http404)
def not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    """404: not there, or somebody else's."""
    return _problem(request, 404, "not_found", str(error) or "Not found.")


@api.exception_handler(IdempotencyConflict)
def conflict(request: HttpRequest, error: IdempotencyConflict) -> HttpResponse:
    """409: the key was used for something else."""
    return _problem(request, 409, "idempotency_conflict", str(error))


@api.exception_handler(QuotaExceeded)
def quota_exceeded(request: HttpRequest, error: QuotaExceeded) -> HttpResponse:
    """429: too many runs are waiting, or today's tokens are used up."""
    response = _problem(request, 429, "quota_exceeded", str(error))
    response["Retry-After"] = str(error.retry_after)
    return response


install_error_answers(api)
