"""The cache: Redis, but a lost Redis never takes a page down with it."""

from __future__ import annotations

from typing import Any

import structlog
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

LOST = (RedisConnectionError, RedisTimeoutError)
log = structlog.get_logger(__name__)


class ForgivingRedisCache(RedisCache):
    """Django's Redis cache that answers as an empty cache while the server is away."""

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        try:
            return super().get(key, default, version)
        except LOST:
            return self._away("get", default)

    def set(self, key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        try:
            super().set(key, value, *args, **kwargs)
        except LOST:
            self._away("set", None)

    def add(self, key: str, value: Any, *args: Any, **kwargs: Any) -> bool:
        try:
            return bool(super().add(key, value, *args, **kwargs))
        except LOST:
            return bool(self._away("add", True))

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        try:
            return int(super().incr(key, delta, version))
        except LOST:
            return int(self._away("incr", delta))

    def delete(self, key: str, version: int | None = None) -> bool:
        try:
            return bool(super().delete(key, version))
        except LOST:
            return bool(self._away("delete", False))

    def _away(self, operation: str, answer: Any) -> Any:
        log.warning("cache_away", operation=operation)
        return answer
