"""Answers for requests that went wrong before a view could help."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The form's token is missing or old: say what to do; the browser keeps what was typed."""
    return render(request, "403_csrf.html", {"reason": reason}, status=403)
