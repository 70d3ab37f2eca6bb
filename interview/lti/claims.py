"""What a launch says, read once: who, with which role, in which course, at which link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from interview.plain_text import storable
from interview.teaching.models import ASSISTANT, LEARNER, TEACHER

CORE = "https://purl.imsglobal.org/spec/lti/claim/"
AGS = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
DEEP_LINKING = "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"
MEMBERSHIP = "http://purl.imsglobal.org/vocab/lis/v2/membership"
TEACHERS = {"Instructor", "Administrator", "ContentDeveloper"}
ASSISTANTS = {"TeachingAssistant", "TeachingAssistantSection", "Grader", "GraderOrTA"}


@dataclass(frozen=True)
class Launched:
    """A validated launch."""

    sub: str
    name: str
    role: str
    deployment: str
    context: str
    context_title: str = ""
    resource: str = ""
    resource_title: str = ""
    assignment: str = ""
    line_item: str = ""
    line_items: str = ""
    scopes: list[str] = field(default_factory=list)
    deep_linking: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As it is kept until the launch has arrived."""
        return asdict(self)


def _text(value: Any, limit: int) -> str:
    return " ".join(storable(str(value or "")).split())[:limit]


def _name(claims: Mapping[str, Any]) -> str:
    parts = f"{claims.get('given_name') or ''} {claims.get('family_name') or ''}"
    return _text(claims.get("name") or parts, 80)


def role_in(claims: Mapping[str, Any]) -> str:
    """The role in this course: teacher, assistant, learner, or empty where the platform names none of them.

    Roles at the institution (an administrator of the whole school) say nothing about this course.
    """
    found = set()
    for role in claims.get(f"{CORE}roles") or []:
        vocabulary, _, name = str(role).rpartition("#")
        if vocabulary in ("", MEMBERSHIP) or vocabulary.startswith(f"{MEMBERSHIP}/"):
            found.add(name)
    if found & ASSISTANTS:  # a sub-role comes together with its main role, Instructor
        return ASSISTANT
    if found & TEACHERS:
        return TEACHER
    return LEARNER if found & {"Learner", "Student"} else ""


def launched(claims: Mapping[str, Any]) -> Launched:
    """The claims of a validated token."""
    context = claims.get(f"{CORE}context") or {}
    resource = claims.get(f"{CORE}resource_link") or {}
    custom = claims.get(f"{CORE}custom") or {}
    service = claims.get(AGS) or {}
    return Launched(
        sub=str(claims["sub"])[:255],
        name=_name(claims),
        role=role_in(claims),
        deployment=str(claims[f"{CORE}deployment_id"]),
        context=str(context.get("id") or "")[:255],
        context_title=_text(context.get("title") or context.get("label"), 200),
        resource=str(resource.get("id") or "")[:255],
        resource_title=_text(resource.get("title"), 200),
        assignment=str(custom.get("assignment") or "")[:64],
        line_item=str(service.get("lineitem") or "")[:1_000],
        line_items=str(service.get("lineitems") or "")[:1_000],
        scopes=[str(scope) for scope in service.get("scope") or []][:20],
        deep_linking=claims.get(DEEP_LINKING),
    )
