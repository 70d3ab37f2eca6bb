"""Writes of the prompt library."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max

from interview.accounts.models import User
from interview.plain_text import storable
from interview.playground.models import Prompt, PromptVersion
from interview.runs.chain import canonical_hash


def template_hash(system: str, body: str) -> str:
    """What a run records: the sha256 of system and body as canonical JSON."""
    return canonical_hash({"system": system, "body": body})


@transaction.atomic
def prompt_create(*, owner: User, name: str, system: str, body: str) -> Prompt:
    """A prompt with its first version."""
    prompt = Prompt.objects.create(owner=owner, name=storable(name).strip())
    _write(prompt, 1, system, body, "")
    return prompt


@transaction.atomic
def version_write(*, prompt: Prompt, system: str, body: str, note: str = "") -> PromptVersion:
    """The next version; what says the same as the latest is that one, and nothing is written."""
    Prompt.objects.select_for_update().get(pk=prompt.pk)
    latest = prompt.versions.order_by("-number").first()
    if latest is not None and latest.hash == template_hash(storable(system), storable(body)):
        return latest
    number = (prompt.versions.aggregate(last=Max("number"))["last"] or 0) + 1
    return _write(prompt, number, system, body, note)


def _write(prompt: Prompt, number: int, system: str, body: str, note: str) -> PromptVersion:
    system, body = storable(system), storable(body)
    return PromptVersion.objects.create(
        prompt=prompt,
        number=number,
        system=system,
        body=body,
        note=storable(note),
        hash=template_hash(system, body),
    )


def prompt_delete(prompt: Prompt) -> None:
    """The prompt and its versions; runs keep what they recorded."""
    prompt.delete()
