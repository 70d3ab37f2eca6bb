"""Views whose libraries are read when a platform first calls: 13 MB that a web process without LTI never needs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

View = Callable[..., HttpResponseBase]


def later(path: str) -> View:
    """The view `module.name` of this room's `views`, imported at its first request."""
    module, _, name = path.partition(".")

    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        found: View = getattr(import_module(f"interview.lti.views.{module}"), name)
        return found(request, *args, **kwargs)

    view.__name__ = name
    return view
