"""Requests to a platform: only to hosts that LTI_HOSTS names, with a time limit, following no redirect."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.http.request import validate_host

TIMEOUT = (5, 10)  # seconds to connect, and to answer


class HostRefused(requests.RequestException):
    """The address isn't one that this site may ask."""


def may_ask(url: str) -> bool:
    """Whether an address lies on an allowed host and is asked over https (http only where the site itself is on it)."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return False
    if not url.isascii() or not url.isprintable() or set(url) & set("\\@ ") or not host:
        return False  # two readers of such an address could see two hosts in it
    schemes = {"https"} if settings.HTTPS else {"https", "http"}
    return parts.scheme in schemes and validate_host(host, settings.LTI_HOSTS)


class PlatformSession(requests.Session):
    """What pylti1p3 asks platforms with."""

    def __init__(self) -> None:
        super().__init__()
        self.headers["User-Agent"] = "Prefill"

    def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
        if not may_ask(str(url)):
            raise HostRefused(f"{url} isn’t on a host that LTI_HOSTS names")
        kwargs["timeout"], kwargs["allow_redirects"] = TIMEOUT, False
        return super().request(method, url, *args, **kwargs)
