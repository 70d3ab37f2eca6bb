"""Question sets. They are not built yet, and the page says so."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def set_list(request: HttpRequest) -> HttpResponse:
    """Question sets: what will be here."""
    return render(request, "teaching/set_list.html")
