"""What every template may use besides its view's own context."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

ROOMS = {
    "questions": "practise",
    "practice": "practise",
    "calculators": "calculate",
    "playground": "playground",
    "documents": "playground",
    "runs": "playground",
    "tools": "playground",
    "teaching": "teach",
    "lti": "teach",
    "webhooks": "teach",
    "accounts": "account",
}


def site(request: HttpRequest) -> dict[str, object]:
    """The room a page belongs to and the site's public address."""
    match = request.resolver_match
    return {"room": ROOMS.get(match.app_name, "") if match else "", "site_url": settings.SITE_URL}
