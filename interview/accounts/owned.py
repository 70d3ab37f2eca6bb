"""Which rows are somebody's: read from the models themselves, so that a new one can't be forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import models
from django.db.models.fields.reverse_related import ManyToOneRel

from interview.accounts.models import User

Model = type[models.Model]


@dataclass(frozen=True, slots=True)
class Relation:
    """A foreign key (or one-to-one) that points at a user."""

    model: Model
    field: str

    def rows(self, *users: User) -> models.QuerySet[Any]:
        """The rows that point at any of these users."""
        return self.model._base_manager.filter(**{f"{self.field}__in": users})


@cache
def relations() -> tuple[Relation, ...]:
    """Every relation of the site to a user, hidden ones too; a user's own groups and permissions are no work."""
    own = {field.remote_field.through for field in User._meta.local_many_to_many}
    found = [
        Relation(model, field)
        for model, field, _ in _pointing_at(User)
        if model is not User and model not in own
    ]
    return tuple(sorted(found, key=lambda relation: (relation.model._meta.label_lower, relation.field)))


@cache
def dependents() -> dict[Model, tuple[str, ...]]:
    """Models that point at no user but go with an owned row (a run's trace), and the ways to their user."""
    found: dict[Model, list[str]] = {}
    direct = {relation.model for relation in relations()} | {User}
    waiting: list[tuple[Model, str, tuple[Model, ...]]] = [
        (relation.model, relation.field, (relation.model,)) for relation in relations()
    ]
    while waiting:
        model, path, chain = waiting.pop()
        for child, field, cascades in _pointing_at(model):
            if not cascades or child in direct or child in chain:
                continue
            way = f"{field}__{path}"
            found.setdefault(child, []).append(way)
            waiting.append((child, way, (*chain, child)))
    return {model: tuple(sorted(ways)) for model, ways in found.items()}


def _pointing_at(model: Model) -> Iterator[tuple[Model, str, bool]]:
    """(model, field, whether it is deleted along) of every foreign key and one-to-one to a model."""
    for related in model._meta.get_fields(include_hidden=True):
        if isinstance(related, ManyToOneRel):  # a OneToOneRel is one too
            yield related.related_model, related.field.name, related.on_delete is models.CASCADE


def owned_rows(*users: User) -> Iterator[tuple[Model, models.QuerySet[Any]]]:
    """Every model with anything of theirs, and those rows, in a steady order."""
    queries: dict[Model, models.Q] = {}
    for relation in relations():
        queries[relation.model] = queries.get(relation.model, models.Q()) | models.Q(
            **{f"{relation.field}__in": users}
        )
    for model, ways in dependents().items():
        for way in ways:
            queries[model] = queries.get(model, models.Q()) | models.Q(**{f"{way}__in": users})
    for model in sorted(queries, key=lambda model: model._meta.label_lower):
        # A subquery instead of DISTINCT: rows may hold JSON, which PostgreSQL can't compare.
        keys = model._base_manager.filter(queries[model]).values("pk")
        yield model, model._base_manager.filter(pk__in=keys).order_by("pk")
