"""Settings for the test suite: the product's own, on plain http, with data under var/test."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("HTTPS", "off")
os.environ.setdefault("MODELS_DIR", str(ROOT / "var" / "models"))
os.environ.setdefault("VAR_DIR", str(ROOT / "var" / "test"))
os.environ.setdefault("SECRET_KEY", "only-for-tests-only-for-tests-only-for-tests-only-for-tests")
os.environ.setdefault("LOG_LEVEL", "WARNING")
os.environ.setdefault("EMAIL_URL", "memorymail://")

from interview.settings import *  # noqa: E402, F403

STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # speed only; production uses argon2
