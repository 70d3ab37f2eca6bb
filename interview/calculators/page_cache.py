"""Whole pages kept a while for visitors who hold nothing here: a link in an argument is opened again and again.

A calculator's page depends on its address alone until there is a session, a message or a chosen time zone. What is kept
is the page without its CSRF tokens; each visitor gets their own put in.
"""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token

MOST_PAGES, SECONDS, LONGEST_ADDRESS = 256, 300.0, 2000
TOKEN = re.compile(rb'(name="csrfmiddlewaretoken" value=")[A-Za-z0-9]{64}(")')
HEADERS = ("Content-Type", "Vary", "X-Frame-Options")


@dataclass(frozen=True, slots=True)
class Kept:
    """A page as everybody gets it, and until when."""

    body: bytes
    headers: tuple[tuple[str, str], ...]
    csp: dict[str, Any] | None
    until: float


class PageCache:
    """The last pages of this process, each by its address."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, request: HttpRequest) -> HttpResponse | None:
        """The page for this visitor, if it is kept."""
        if not _is_everybodys(request):
            return None
        with self._lock:
            kept = self._pages.get(_key(request))
        if kept is None or kept.until < time.monotonic():
            return None
        response = HttpResponse(_with_token(request, kept.body))
        for name, value in kept.headers:
            response[name] = value
        if kept.csp is not None:
            response._csp_replace = kept.csp  # type: ignore[attr-defined]  # django-csp reads it
        return response

    def put(self, request: HttpRequest, response: HttpResponse) -> None:
        """Keep a page that anybody may get."""
        if response.status_code != 200 or not _is_everybodys(request):
            return
        body = TOKEN.sub(rb"\1\2", response.content)
        headers = tuple((name, response[name]) for name in HEADERS if name in response)
        kept = Kept(body, headers, getattr(response, "_csp_replace", None), time.monotonic() + SECONDS)
        with self._lock:
            self._pages[_key(request)] = kept
            self._pages.move_to_end(_key(request))
            while len(self._pages) > MOST_PAGES:
                self._pages.popitem(last=False)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._pages.clear()


def _is_everybodys(request: HttpRequest) -> bool:
    """A plain GET of somebody without a session, and no address too long to be opened twice."""
    return (
        request.method == "GET"
        and "HX-Request" not in request.headers
        and "Authorization" not in request.headers
        and set(request.COOKIES) <= {settings.CSRF_COOKIE_NAME}
        and len(request.get_full_path()) <= LONGEST_ADDRESS
    )


def _key(request: HttpRequest) -> str:
    return request.build_absolute_uri()


def _with_token(request: HttpRequest, body: bytes) -> bytes:
    if b'name="csrfmiddlewaretoken" value=""' not in body:
        return body
    return body.replace(
        b'name="csrfmiddlewaretoken" value=""',
        b'name="csrfmiddlewaretoken" value="%s"' % get_token(request).encode(),
    )


PAGES = PageCache()
