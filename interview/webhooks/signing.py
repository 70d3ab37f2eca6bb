"""Signatures as standardwebhooks.com describes them, so that receivers have libraries for every language."""

from __future__ import annotations

import base64
import hashlib
import hmac

from django.conf import settings
from django.utils.crypto import salted_hmac

from interview.webhooks.models import Webhook

SALT = "webhooks.secret"


def secret_of(webhook: Webhook) -> str:
    """What the receiver checks signatures with; a new one when `secret_number` goes up."""
    return "whsec_" + base64.b64encode(_key(webhook, settings.SECRET_KEY)).decode()


def _key(webhook: Webhook, site_key: str) -> bytes:
    value = f"{webhook.pk}.{webhook.secret_number}"
    return salted_hmac(SALT, value, secret=site_key, algorithm="sha256").digest()


def signed_headers(webhook: Webhook, message: str, at: int, body: bytes) -> dict[str, str]:
    """The three headers. While SECRET_KEY is being changed there is a signature by the former one too."""
    content = f"{message}.{at}.".encode() + body
    keys = [_key(webhook, site_key) for site_key in [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]]
    signatures = [base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode() for key in keys]
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
