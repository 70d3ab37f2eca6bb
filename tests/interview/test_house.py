"""The house rules a machine can check: sizes, methods of views, a web process without torch, no inline code."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from django.urls import URLPattern, URLResolver, get_resolver

ROOT = Path(settings.BASE_DIR)
FUNCTION_LINES, FILE_LINES = 60, 500
SOURCES = sorted(
    path
    for folder in ("engine", "interview", "scripts", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
UNFINISHED = re.compile(r"\b(TO" "DO|FIX" "ME|X" "XX)\b")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_functions_and_files_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= FILE_LINES, "one idea a file: split it"
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = [f"{node.name} ({node.end_lineno - node.lineno + 1} lines)" for node in functions if node.end_lineno and node.end_lineno - node.lineno >= FUNCTION_LINES]  # fmt: skip
    assert not long


@pytest.mark.parametrize(
    "path", [*SOURCES, *TEMPLATES, *sorted((ROOT / "static").rglob("*.[jc]s*"))], ids=named
)
def test_nothing_is_left_for_later(path: Path) -> None:
    assert not UNFINISHED.findall(path.read_text(encoding="utf-8"))


INLINE = {
    "a script": re.compile(r"<script\b(?![^>]*\bsrc=)(?![^>]*type=[\"']application/(ld\+)?json)", re.I),
    "a style element": re.compile(r"<style\b", re.I),
    "a style attribute": re.compile(r"\sstyle\s*=", re.I),
    "an event handler": re.compile(r"<[^>]*\son[a-z]+\s*=\s*[\"']", re.I),
    "code in an htmx attribute": re.compile(
        r"\bhx-on[:=-]|hx-(vals|headers)=[\"']js:|hx-trigger=[\"'][^\"']*\[", re.I
    ),
    "a javascript: address": re.compile(r"javascript:", re.I),
    "another site's file": re.compile(r"<(script|link|img)\b[^>]*\b(src|href)=[\"'](https?:)?//", re.I),
}


@pytest.mark.parametrize("path", TEMPLATES, ids=named)
def test_templates_fit_the_content_security_policy(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [what for what, pattern in INLINE.items() if pattern.search(text)] == []


def views(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every address of ours with its view; the JSON API's framework checks methods itself."""
    for pattern in patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield address, pattern
        elif pattern.app_name != "ninja":
            yield from views(pattern.url_patterns, address)


VIEWS = list(views(get_resolver().url_patterns))


def answer(view: Callable[..., Any], method: str, keys: list[str]) -> HttpResponse:
    request = RequestFactory().generic(method, "/")
    request.user = AnonymousUser()
    request.htmx = False  # type: ignore[attr-defined]
    response = view(request, **dict.fromkeys(keys, "1"))
    return asyncio.run(response) if inspect.isawaitable(response) else response  # type: ignore[arg-type, no-any-return]


@override_settings(LTI_HOSTS=["127.0.0.1"])  # where LTI is off, its addresses are not there at all
@pytest.mark.parametrize(("address", "pattern"), VIEWS, ids=[address or "/" for address, _ in VIEWS])
def test_every_view_names_its_methods(address: str, pattern: URLPattern) -> None:
    """An unknown method is refused before anything else happens: no query, no redirect to sign in."""
    keys = list(pattern.pattern.converters)
    assert answer(pattern.callback, "BREW", keys).status_code == 405


def test_the_web_process_never_loads_the_model_libraries() -> None:
    """Every module that a page, an API call or an event stream needs, in a process of its own."""
    code = (
        "import sys, interview.asgi, django.urls\n"
        "django.urls.get_resolver().url_patterns, django.urls.reverse('home')\n"
        "from interview.lti.views import courses, launches, places, platforms\n"
        "print(sorted({'torch', 'transformers', 'llguidance', 'numpy', 'gguf'} & set(sys.modules)))\n"
        "from engine import Request\n"
        "from engine.schemas import check_constraint\n"
        "from interview.runs.fits import served_model, size_fault\n"
        "check_constraint(Request.from_dict({'prompt': 'x', 'schema': {'type': 'string'}}))\n"
        "assert served_model() and 'window holds' in size_fault({'prompt': 'a b ' * 9000})\n"
        "print(sorted({'torch', 'transformers', 'numpy', 'gguf'} & set(sys.modules)))"
    )
    environment = {**os.environ, "HTTPS": "off", "MODELS_DIR": str(settings.MODELS_DIR)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.stdout.split() == ["[]", "[]"], done.stderr


def test_web_reads_the_libraries_of_learning_platforms_only_when_one_calls() -> None:
    code = (
        "import sys, interview.asgi, django.urls\n"
        "django.urls.get_resolver().url_patterns, django.urls.reverse('lti:platform_list')\n"
        "print(sorted({'pylti1p3', 'requests', 'jwt', 'jwcrypto'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_only_one_module_reads_the_environment() -> None:
    """So that every variable is listed, checked and explained; a child's environment is passed on whole."""
    reading = re.compile(r"os\.(environ\.get|environ\[|getenv)|environ\.Env\b")
    found = [named(path) for path in (ROOT / "interview").rglob("*.py") if reading.search(path.read_text())]
    assert found == ["interview/environment.py"]


@pytest.mark.parametrize("path", sorted((ROOT / "interview").rglob("services.py")), ids=named)
def test_services_are_documented(path: Path) -> None:
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    public = [node for node in functions if not node.name.startswith("_")]
    assert [node.name for node in public if not ast.get_docstring(node)] == []
