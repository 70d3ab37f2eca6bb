"""What the views of this room share: it answers only while LTI is on, and a refused launch is told in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import requests
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from pylti1p3.exception import LtiException, OIDCException

from interview.lti.errors import LaunchRefused, in_words

View = Callable[..., HttpResponseBase]
# A token or key set that isn't one shows as any of the last three inside the library.
FAULTS = (
    LaunchRefused,
    LtiException,
    OIDCException,
    requests.RequestException,
    KeyError,
    TypeError,
    ValueError,
)


def while_on(view: View) -> View:
    """404 unless LTI_HOSTS names a host."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.LTI_HOSTS:
            raise Http404("LTI is off: LTI_HOSTS names no host.")
        return view(request, *args, **kwargs)

    return guarded


def launch_refused(request: HttpRequest, error: Exception, status: int = 403) -> HttpResponse:
    """The page of a launch that isn't let in."""
    return render(request, "lti/refused.html", {"message": in_words(error)}, status=status)
