"""Errors in OpenAI's shape, so that its clients raise their own typed exceptions."""

from __future__ import annotations

from typing import Any

from django.http import JsonResponse

TYPES = {401: "invalid_request_error", 404: "invalid_request_error", 429: "rate_limit_error"}


class Refused(Exception):
    """A request that gets no completion: a status, a stable code, and the parameter that is at fault."""

    def __init__(
        self, status: int, code: str, message: str, param: str | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param, self.retry_after = status, code, param, retry_after

    @property
    def body(self) -> dict[str, Any]:
        """{"error": {"message", "type", "param", "code"}}."""
        kind = TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> JsonResponse:
        """The whole answer."""
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after else {}
        return JsonResponse(self.body, status=self.status, headers=headers)
