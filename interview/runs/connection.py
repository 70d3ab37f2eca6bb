"""Connections to Redis or Valkey for streams and presence (the broker has its own, by Celery)."""

from __future__ import annotations

from functools import cache
from typing import Any

import redis
import redis.asyncio
from django.conf import settings

LOST = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)


def _options(timeout: float) -> dict[str, Any]:
    options: dict[str, Any] = {"socket_timeout": timeout, "decode_responses": True}
    if not settings.REDIS_URL.startswith("unix:"):
        options["socket_connect_timeout"] = 1
    return options


@cache
def client() -> redis.Redis:
    """The process-wide blocking client; calls raise one of LOST while the server is away."""
    return redis.Redis.from_url(settings.REDIS_URL, **_options(2))


def async_client() -> redis.asyncio.Redis:
    """A client of one event loop, for one stream; the caller closes it."""
    return redis.asyncio.Redis.from_url(settings.REDIS_URL, **_options(30))
