"""The menu says where one is, in every room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.urls import URLResolver, get_resolver

from interview.ui.context import ROOMS

PROGRAMS = {"openai_api", "ninja"}  # answer programs, and have no page


def namespaces(resolver: URLResolver) -> Iterator[str]:
    for found in resolver.url_patterns:
        if isinstance(found, URLResolver):
            yield from [found.app_name] if found.app_name else []
            yield from namespaces(found)


def test_every_app_with_pages_belongs_to_a_room() -> None:
    resolver: Any = get_resolver()
    assert set(namespaces(resolver)) - PROGRAMS == set(ROOMS)
