"""The answer to a deep linking request: one assignment as a link with a gradebook column."""

from __future__ import annotations

from typing import Any

from django.db.models import Sum
from pylti1p3.deep_link import DeepLink
from pylti1p3.deep_link_resource import DeepLinkResource
from pylti1p3.lineitem import LineItem

from interview.lti.claims import Launched
from interview.lti.errors import LaunchRefused
from interview.lti.http import may_ask
from interview.lti.models import Platform
from interview.lti.platforms import addresses
from interview.lti.tool import registration
from interview.teaching.models import AssignedQuestion, Assignment


def response_token(platform: Platform, who: Launched, assignment: Assignment) -> tuple[str, str]:
    """Where the answer goes, and the signed answer. Raises LaunchRefused for an address that isn't the platform's."""
    asked: Any = who.deep_linking or {}
    back = str(asked.get("deep_link_return_url") or "")
    if not may_ask(back):
        raise LaunchRefused("The platform wants the answer at an address that this site may not use.")
    worth = AssignedQuestion.objects.filter(assignment=assignment).aggregate(all=Sum("points"))["all"]
    column = LineItem()
    column.set_label(assignment.title).set_tag(str(assignment.pk)).set_score_maximum(float(worth or 1))
    resource = DeepLinkResource()
    resource.set_title(assignment.title).set_url(addresses(platform)["launch"]).set_target("window")
    resource.set_custom_params({"assignment": str(assignment.pk)}).set_lineitem(column)
    return back, DeepLink(registration(platform), who.deployment, asked).get_response_jwt([resource])
