"""Writes about platforms, and what each kind of platform needs to know of this site."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from interview.accounts.models import User
from interview.lti.models import CANVAS, MOODLE, OTHER, Platform, PlatformAccount

CANVAS_CLOUD = "https://sso.canvaslms.com"
SCOPES = [
    "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem",
    "https://purl.imsglobal.org/spec/lti-ags/scope/score",
]


def endpoints(kind: str, address: str) -> dict[str, str]:
    """The usual issuer and addresses of a platform of this kind; they can be changed afterwards."""
    base = address.rstrip("/")
    if kind == MOODLE:
        return {
            "issuer": base,
            "login_url": f"{base}/mod/lti/auth.php",
            "token_url": f"{base}/mod/lti/token.php",
            "keys_url": f"{base}/mod/lti/certs.php",
        }
    if kind == CANVAS:
        cloud = base.endswith(".instructure.com")
        sso = CANVAS_CLOUD if cloud else base
        return {
            "issuer": "https://canvas.instructure.com",
            "login_url": f"{sso}/api/lti/authorize_redirect",
            "token_url": f"{sso}/login/oauth2/token",
            "keys_url": f"{sso}/api/lti/security/jwks",
        }
    return {"issuer": base, "login_url": "", "token_url": "", "keys_url": ""}


def platform_create(*, owner: User, name: str, kind: str, address: str) -> Platform:
    """A platform with the usual addresses of its kind; its client id comes later, from the platform."""
    assert kind in (MOODLE, CANVAS, OTHER)
    return Platform.objects.create(owner=owner, name=name, kind=kind, **endpoints(kind, address))


def platform_update(*, platform: Platform, **fields: Any) -> None:
    """Change what is known of a platform."""
    for name, value in fields.items():
        setattr(platform, name, value)
    platform.save(update_fields=list(fields))


@transaction.atomic
def platform_delete(*, platform: Platform) -> None:
    """Forget a platform: nobody comes in by it any more. Accounts, classes and work stay."""
    PlatformAccount.objects.filter(platform=platform).delete()
    platform.delete()


def addresses(platform: Platform) -> dict[str, str]:
    """What the platform asks for about this site."""
    return {
        "launch": settings.SITE_URL + reverse("lti:launch", args=[platform.pk]),
        "login": settings.SITE_URL + reverse("lti:login", args=[platform.pk]),
        "keys": settings.SITE_URL + reverse("lti:key_set"),
        "config": settings.SITE_URL + reverse("lti:canvas_config", args=[platform.pk]),
    }


def canvas_config(platform: Platform) -> dict[str, Any]:
    """The configuration that a Canvas developer key reads by URL."""
    here = addresses(platform)
    placements = [
        {"placement": place, "message_type": "LtiDeepLinkingRequest", "target_link_uri": here["launch"]}
        for place in ("assignment_selection", "link_selection")
    ]
    course = {
        "placement": "course_navigation",
        "message_type": "LtiResourceLinkRequest",
        "target_link_uri": here["launch"],
        "windowTarget": "_blank",
        "default": "disabled",
    }
    return {
        "title": "Prefill",
        "description": "Questions on language-model engineering, answered in one's own words",
        "oidc_initiation_url": here["login"],
        "target_link_uri": here["launch"],
        "public_jwk_url": here["keys"],
        "scopes": SCOPES,
        "extensions": [
            {
                "platform": "canvas.instructure.com",
                "privacy_level": "name_only",
                "settings": {"text": "Prefill", "placements": [*placements, course]},
            }
        ],
    }
