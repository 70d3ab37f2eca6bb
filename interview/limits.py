"""How often one address or account may try something: fixed windows, counted in the cache.

While the cache's server is away each process counts by itself, so the limits hold per process instead of failing open.
"""

from __future__ import annotations

import hashlib
import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

MINUTE, HOUR = 60, 3600
LOCAL_KEYS = 10_000  # counters one process keeps at most while the cache is away


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` tries in each window of `seconds`, for each subject."""

    name: str
    most: int
    seconds: int
    what: str


# By address: generous, for a whole class may share one. Sign-ins that succeed are given back.
SIGN_IN_BY_ADDRESS = Limit("sign-in-address", 40, 15 * MINUTE, "sign-in attempts from this network")
SIGN_IN_BY_ACCOUNT = Limit("sign-in-account", 10, 15 * MINUTE, "sign-in attempts for this account")
SIGN_UP_BY_ADDRESS = Limit("sign-up-address", 60, HOUR, "new accounts from this network")
RESET_BY_ADDRESS = Limit("reset-address", 20, HOUR, "password resets from this network")
RESET_BY_ACCOUNT = Limit("reset-account", 5, HOUR, "password resets for this address")
PASSWORD_BY_ACCOUNT = Limit("password-account", 10, 15 * MINUTE, "tries of the current password")
EMAIL_BY_ACCOUNT = Limit("email-account", 5, HOUR, "changes of the e-mail address")
EXPORT_BY_OWNER = Limit("export-owner", 20, HOUR, "exports of your data")


class TooManyTries(Exception):
    """A limit is used up. `retry_after` is the time in seconds until its window ends."""

    def __init__(self, limit: Limit, retry_after: int) -> None:
        super().__init__(f"Too many {limit.what}. Try again in {in_words(retry_after)}.")
        self.limit = limit
        self.retry_after = retry_after


def authorize_sign_in(request: HttpRequest, email: str) -> None:
    """Count a try to sign in, before the password is looked at. Raises `TooManyTries`."""
    _take(SIGN_IN_BY_ADDRESS, client_address(request))
    _take(SIGN_IN_BY_ACCOUNT, email)


def sign_in_succeeded(request: HttpRequest, email: str) -> None:
    """The password was right: this try counts against nobody, and the account starts afresh."""
    _give_back(SIGN_IN_BY_ADDRESS, client_address(request))
    _forget(SIGN_IN_BY_ACCOUNT, email)


def authorize_sign_up(request: HttpRequest) -> None:
    """Count a new account. Raises `TooManyTries`."""
    _take(SIGN_UP_BY_ADDRESS, client_address(request))


def authorize_password_reset(request: HttpRequest, email: str) -> None:
    """Count a reset; the same for addresses that have no account. Raises `TooManyTries`."""
    _take(RESET_BY_ADDRESS, client_address(request))
    _take(RESET_BY_ACCOUNT, email)


def authorize_password_check(user_id: int) -> None:
    """Count a try of a signed-in account's current password. Raises `TooManyTries`."""
    _take(PASSWORD_BY_ACCOUNT, str(user_id))


def authorize_email_change(user_id: int) -> None:
    """Count a letter sent to a new address. Raises `TooManyTries`."""
    _take(EMAIL_BY_ACCOUNT, str(user_id))


def authorize_export(owner_id: int) -> None:
    """Count an export. Raises `TooManyTries`."""
    _take(EXPORT_BY_OWNER, str(owner_id))


def limited(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A view whose `TooManyTries` becomes a 429 page, or JSON on API addresses, with Retry-After."""

    @wraps(view)
    def answer(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except TooManyTries as refusal:
            return refused(request, refusal)

    return answer


def refused(request: HttpRequest, refusal: TooManyTries) -> HttpResponse:
    """The 429 answer: how long to wait and what to do."""
    response: HttpResponse
    if request.path.startswith(("/api/", "/v1/")):
        body = {"code": "too_many_requests", "message": str(refusal), "retry_after": refusal.retry_after}
        response = JsonResponse(body, status=429)
    else:
        context = {
            "message": str(refusal),
            "retry_after": refusal.retry_after,
            "wait": in_words(refusal.retry_after),
        }
        response = render(request, "429.html", context, status=429)
    response.headers["Retry-After"] = str(refusal.retry_after)
    return response


def client_address(request: HttpRequest) -> str:
    """Who asks, IPv6 by its /64 network.

    X-Forwarded-For is not read here: the web server has put the client in REMOTE_ADDR where the peer is one of
    TRUSTED_PROXIES, and from anybody else the header is only a claim.
    """
    address = request.META.get("REMOTE_ADDR", "")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address or "unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def in_words(seconds: int) -> str:
    """A waiting time as people say it: never less than what is left."""
    if seconds < MINUTE:
        return f"{seconds} second{'' if seconds == 1 else 's'}"
    minutes = -(-seconds // MINUTE)
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


def _take(limit: Limit, subject: str) -> None:
    now = time.time()
    if _count(_key(limit, subject, now), limit.seconds) > limit.most:
        raise TooManyTries(limit, max(1, round(limit.seconds - now % limit.seconds)))


def _give_back(limit: Limit, subject: str) -> None:
    key = _key(limit, subject, time.time())
    if cache.get(key):
        cache.incr(key, -1)
    LOCAL.give_back(key)


def _forget(limit: Limit, subject: str) -> None:
    key = _key(limit, subject, time.time())
    cache.delete(key)
    LOCAL.forget(key)


def _key(limit: Limit, subject: str, now: float) -> str:
    """Hashed: the cache holds no e-mail address, and any text makes a valid key."""
    digest = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"limit:{limit.name}:{digest}:{int(now // limit.seconds)}"


def _count(key: str, seconds: int) -> int:
    cache.add(key, 0, seconds)
    try:
        count = int(cache.incr(key))
    except ValueError:  # the window ended between the two calls
        return 1
    # A cache whose server is away answers 1 and holds nothing (interview/cache.py).
    return LOCAL.hit(key) if count == 1 and cache.get(key) is None else count


class LocalCounters:
    """Counters of this process, for while the cache is away; the oldest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def hit(self, key: str) -> int:
        with self._lock:
            self._counts[key] = self._counts.pop(key, 0) + 1
            if len(self._counts) > self._most:
                del self._counts[next(iter(self._counts))]
            return self._counts[key]

    def give_back(self, key: str) -> None:
        with self._lock:
            if self._counts.get(key):
                self._counts[key] -= 1

    def forget(self, key: str) -> None:
        with self._lock:
            self._counts.pop(key, None)


LOCAL = LocalCounters(LOCAL_KEYS)
