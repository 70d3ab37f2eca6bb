"""Every answer under /api/v1/ is JSON with a stable code, also where no handler was reached."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse

Handler = Callable[[HttpRequest], HttpResponse]
JSON = "application/json"
BODIES = ("POST", "PUT", "PATCH")
UPLOADS = {"/api/v1/documents": "multipart/form-data"}  # what takes files instead
CODES = {
    400: ("malformed", "The request can't be read."),
    403: ("forbidden", "That is not allowed."),
    404: ("not_found", "There is nothing at this address for you."),
    405: (
        "method_not_allowed",
        "This address doesn't answer that method; the Allow header names those it does.",
    ),
    500: ("failed", "Something here failed. It is recorded; try again."),
}


class ApiErrorMiddleware:
    """Refuses bodies that are not JSON (415) and turns pages of errors into {"code", "message"}."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith("/api/v1/"):
            return self.get_response(request)
        if request.method in BODIES and request.META.get("CONTENT_LENGTH") not in (None, "", "0"):
            given = request.content_type or "nothing"
            wanted = UPLOADS.get(request.path, JSON)
            if given != wanted:
                message = f"Content-Type is {given}; send {wanted}."
                return JsonResponse({"code": "unsupported_media_type", "message": message}, status=415)
        response = self.get_response(request)
        if response.status_code not in CODES or response.headers.get("Content-Type", "").startswith(JSON):
            return response
        return self._as_json(response)

    def _as_json(self, page: HttpResponse) -> HttpResponse:
        code, message = CODES[page.status_code]
        answer = JsonResponse({"code": code, "message": message}, status=page.status_code)
        if "Allow" in page.headers:
            answer.headers["Allow"] = page.headers["Allow"]
        return answer
