"""The prompt library: a list, one prompt with its versions and their differences, a run of it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from interview.accounts.owners import owner_of, owner_or_guest
from interview.playground import bench
from interview.playground.models import Prompt, PromptVersion
from interview.playground.prompts.form import EXAMPLE_BODY, EXAMPLE_SYSTEM, FillForm, PromptForm, VersionForm
from interview.playground.prompts.services import prompt_create, prompt_delete, version_write
from interview.playground.views import GENERATE

PAGE = 50


@dataclass(frozen=True)
class Line:
    """A line of a difference: kept, added or taken out."""

    sign: str
    text: str


@require_http_methods(["GET", "HEAD", "POST"])
def prompts(request: HttpRequest) -> HttpResponse:
    """One's own prompts, and a form for a new one."""
    form = PromptForm(request.POST or None, initial={"system": EXAMPLE_SYSTEM, "body": EXAMPLE_BODY})
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        prompt = prompt_create(
            owner=owner_or_guest(request), name=data["name"], system=data["system"], body=data["body"]
        )
        return redirect("playground:prompt", prompt.pk)
    owner = owner_of(request)
    own = Prompt.objects.filter(owner=owner).prefetch_related("versions")[:PAGE] if owner else []
    status = 422 if request.method == "POST" else 200
    return render(request, "playground/prompts.html", {"form": form, "prompts": own}, status=status)


def _own(request: HttpRequest, pk: int) -> Prompt:
    owner = owner_of(request)
    prompt = Prompt.objects.filter(pk=pk, owner=owner).first() if owner else None
    if prompt is None:
        raise Http404("No such prompt.")
    return prompt


@require_http_methods(["GET", "HEAD", "POST"])
def prompt(request: HttpRequest, pk: int) -> HttpResponse:
    """One prompt: a version to fill in, all versions, the difference between two; posting writes a new version."""
    own = _own(request, pk)
    if request.method != "POST":
        return _page(request, own)
    form = VersionForm(request.POST)
    if not form.is_valid():
        return _page(request, own, form=form, status=422)
    data = form.cleaned_data
    version = version_write(prompt=own, system=data["system"], body=data["body"], note=data["note"])
    return redirect(f"{request.path}?version={version.number}")


def _page(
    request: HttpRequest,
    own: Prompt,
    *,
    form: VersionForm | None = None,
    fill: FillForm | None = None,
    status: int = 200,
) -> HttpResponse:
    versions = list(own.versions.all())
    shown = _version(versions, request.GET.get("version")) or versions[0]
    old = _version(versions, request.GET.get("against"))
    context = {
        "prompt": own,
        "versions": versions,
        "shown": fill.version if fill else shown,
        "against": old,
        "lines": difference(old, shown) if old else [],
        "form": form or VersionForm(initial={"system": shown.system, "body": shown.body}),
        "fill": fill or FillForm(shown, initial={"idempotency_key": bench.new_key()}),
    }
    return render(request, "playground/prompt.html", context, status=status)


def _version(versions: list[PromptVersion], number: str | None) -> PromptVersion | None:
    return next((v for v in versions if str(v.number) == number), None)


def difference(old: PromptVersion, new: PromptVersion) -> list[Line]:
    """Line by line, the system prompt first."""
    left, right = (f"system: {v.system}\n{v.body}".split("\n") for v in (old, new))
    return [Line(line[0].strip(), line[2:]) for line in difflib.ndiff(left, right) if line[0] != "?"]


@require_POST
def prompt_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Fill in a version and queue it; the run records name, version, hash and values."""
    own = _own(request, pk)
    version = own.versions.filter(number=_number(request)).select_related("prompt").first()
    if version is None:
        raise Http404("No such version.")
    fill = FillForm(version, request.POST)
    if not fill.is_valid():
        return _page(request, own, fill=fill, status=422)
    queued, status = bench.enqueue(request, GENERATE, fill, fill.request_body())
    return bench.to_run(GENERATE, queued) if queued else _page(request, own, fill=fill, status=status)


def _number(request: HttpRequest) -> int:
    given = request.POST.get("version", "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0


@require_POST
def prompt_remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a prompt with its versions."""
    prompt_delete(_own(request, pk))
    return redirect("playground:prompts")
