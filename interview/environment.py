"""Read typed values from the environment; every error names the variable and the allowed values."""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
SOCKET_PATH_LIMIT = 100  # sun_path holds 108 bytes on Linux and 104 on macOS


def read_file(path: Path) -> None:
    """Take variables from a `.env` file; the real environment wins."""
    if path.is_file():
        environ.Env.read_env(path, overwrite=False)


def refuse(name: str, value: str, allowed: str) -> ImproperlyConfigured:
    """The error for a bad value (the value of a secret is never passed here)."""
    return ImproperlyConfigured(f"{name}={value!r} can't be used. Allowed: {allowed}.")


def text(name: str, default: str) -> str:
    """A string; `NAME_FILE` may name a file that holds it (for secrets mounted as files)."""
    file = os.environ.get(f"{name}_FILE", "")
    if file:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise refuse(f"{name}_FILE", file, "the path of a readable file") from error
    return os.environ.get(name, "").strip() or default


def boolean(name: str, default: bool) -> bool:
    """True for 1/true/yes/on, False for 0/false/no/off."""
    value = text(name, "").lower()
    if not value:
        return default
    if value in TRUE | FALSE:
        return value in TRUE
    raise refuse(name, value, "on, off, true, false, yes, no, 1, 0")


def integer(name: str, default: int, *, least: int, most: int) -> int:
    """A whole number between `least` and `most`."""
    value = text(name, "")
    if not value:
        return default
    allowed = f"a whole number from {least} to {most}"
    try:
        number = int(value)
    except ValueError as error:
        raise refuse(name, value, allowed) from error
    if not least <= number <= most:
        raise refuse(name, value, allowed)
    return number


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    value = text(name, default)
    if value not in allowed:
        raise refuse(name, value, ", ".join(allowed))
    return value


def words(name: str, default: list[str]) -> list[str]:
    """Words separated by commas."""
    value = text(name, "")
    return [word.strip() for word in value.split(",") if word.strip()] if value else default


def origins(name: str, default: list[str]) -> list[str]:
    """Origins such as https://example.org, separated by commas."""
    values = words(name, default)
    for value in values:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise refuse(
                name, value, "origins with their scheme, such as https://example.org, comma-separated"
            )
    return values


def path(name: str, default: Path) -> Path:
    """An absolute folder path."""
    return Path(text(name, str(default))).expanduser().resolve()


def http_url(name: str, default: str) -> str:
    """Empty, or an http(s) address without a trailing slash."""
    value = text(name, default)
    if value and (urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).netloc):
        raise refuse(
            name, value, "an address such as http://127.0.0.1:8080/v1, or empty for the local engine"
        )
    return value.rstrip("/")


def secret_key(name: str, var_dir: Path, *, may_generate: bool) -> str:
    """The signing key: from the environment, or made once under var/ in embedded mode."""
    value = text(name, "")
    if value:
        if len(value) < 32:
            raise ImproperlyConfigured(f"{name} is too short. Allowed: 32 characters or more, random.")
        return value
    if not may_generate:
        raise ImproperlyConfigured(
            f"{name} is not set. Allowed: 32 characters or more, random (it is made by itself only in embedded mode)."
        )
    return _generated_key(var_dir / "secret_key")


def _generated_key(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text(encoding="ascii").strip()
    key = secrets.token_urlsafe(48)
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(key)
    return key


def redis_url(name: str, var_dir: Path) -> str:
    """Where Redis or Valkey answers; unset means the embedded Valkey's unix socket under var/."""
    value = text(name, "")
    if not value:
        return f"unix://{valkey_socket(var_dir)}"
    if urlsplit(value).scheme not in {"redis", "rediss", "unix"}:
        raise refuse(name, value, "redis://host:6379/0, rediss://… or unix:///path/to/socket")
    return value


def valkey_socket(var_dir: Path) -> Path:
    """The embedded Valkey's socket; a short temporary path where var/ lies too deep for a socket name."""
    socket = var_dir / "valkey" / "valkey.sock"
    if len(str(socket).encode()) <= SOCKET_PATH_LIMIT:
        return socket
    digest = hashlib.sha256(str(var_dir).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"prefill-{os.getuid()}-{digest}" / "valkey.sock"


def celery_broker(url: str) -> str:
    """The same server as Celery writes it."""
    return url.replace("unix://", "redis+socket://", 1) if url.startswith("unix://") else url


def database(url: str, var_dir: Path) -> dict[str, Any]:
    """Django's database entry: SQLite in WAL mode under var/, or PostgreSQL by DATABASE_URL."""
    if not url:
        url = f"sqlite:///{var_dir / 'prefill.sqlite3'}"
    scheme = urlsplit(url).scheme
    if scheme not in {"postgres", "postgresql", "sqlite"}:
        raise refuse(
            "DATABASE_URL", f"{scheme}://…", "postgres://user:password@host:5432/name or sqlite:////path/file"
        )
    config: dict[str, Any] = dict(environ.Env.db_url_config(url))
    if scheme == "sqlite":
        config["OPTIONS"] = {
            # Writers take the lock at BEGIN: a reader that turns writer never fails half-way.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
        }
        config["TEST"] = {"NAME": str(var_dir / "test.sqlite3")}
    else:
        config["CONN_HEALTH_CHECKS"] = True
        config["CONN_MAX_AGE"] = 60
    return config


def email(name: str, default: str) -> dict[str, Any]:
    """Django's EMAIL_* settings from one address."""
    value = text(name, default)
    try:
        return dict(environ.Env.email_url_config(value))
    except (KeyError, ValueError) as error:
        raise refuse(
            name, urlsplit(value).scheme + "://…", "smtp+tls://user:password@host:587 or consolemail://"
        ) from error
