"""This site's signing key: made when it is first needed, its private half encrypted with SECRET_KEY."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from jwcrypto.jwk import JWK
from pylti1p3.registration import Registration

from interview.lti.models import ToolKey

BITS = 2048


def _box() -> MultiFernet:
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = [hashlib.sha256(f"lti.tool-key:{secret}".encode()).digest() for secret in secrets]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])


def key_create() -> ToolKey:
    """A fresh key; earlier ones stay in the key set, so that what they signed can still be checked."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return ToolKey.objects.create(
        kid=JWK.from_pem(public).thumbprint(),
        private=_box().encrypt(private).decode(),
        public=public.decode(),
    )


def signing_key() -> tuple[str, str]:
    """The private and public PEM to sign with; a new pair where none can be read any more."""
    for row in ToolKey.objects.all()[:3]:
        try:
            return _box().decrypt(row.private.encode()).decode(), row.public
        except InvalidToken:  # SECRET_KEY was changed without its fallback
            continue
    made = key_create()
    return _box().decrypt(made.private.encode()).decode(), made.public


def key_set() -> dict[str, Any]:
    """The public halves as a JSON Web Key Set."""
    signing_key()
    keys = [json.loads(json.dumps(Registration.get_jwk(row.public))) for row in ToolKey.objects.all()]
    return {"keys": keys}
