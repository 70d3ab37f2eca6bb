"""The documents room. Upload is not built yet, and its page says so."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def document_list(request: HttpRequest) -> HttpResponse:
    """Documents: what will be here."""
    return render(request, "documents/document_list.html")
