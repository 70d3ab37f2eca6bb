"""What the pages of an assignment show of its documents, without the teaching room knowing this one."""

from __future__ import annotations

from typing import Any

from django import template

from interview.accounts.models import User
from interview.documents import assignment_sharing
from interview.teaching.models import Assignment

register = template.Library()


@register.inclusion_tag("documents/_assignment_documents.html")
def assignment_documents(
    assignment: Assignment, *, staff: bool = False, note: bool = False
) -> dict[str, Any]:
    """The collections of an assignment, each with a link that asks it for this assignment."""
    collections = assignment_sharing.collections_of(assignment)
    return {"assignment": assignment, "collections": collections, "staff": staff, "note": note}


@register.inclusion_tag("documents/_assignment_attach.html", takes_context=True)
def assignment_attach(context: Any, assignment: Assignment) -> dict[str, Any]:
    """The collections of an assignment for who may change them."""
    user: User = context["request"].user
    return {
        "assignment": assignment,
        "collections": assignment_sharing.collections_of(assignment),
        "attachable": assignment_sharing.attachable(user, assignment),
        "csrf_token": context["csrf_token"],
    }


@register.inclusion_tag("documents/_asked_by_one.html")
def documents_asked(assignment: Assignment, learner: User) -> dict[str, Any]:
    """What one learner asked the documents of an assignment."""
    return {"rows": assignment_sharing.asked(assignment, learner), "one": True}
