"""The teaching room. Classes are not built yet, and its pages say so."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def class_list(request: HttpRequest) -> HttpResponse:
    """Classes: what will be here, and what a teacher can do today."""
    return render(request, "teaching/class_list.html")


@require_safe
def set_list(request: HttpRequest) -> HttpResponse:
    """Question sets: what will be here."""
    return render(request, "teaching/set_list.html")
