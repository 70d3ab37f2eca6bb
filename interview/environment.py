"""Read typed values from the environment; every error names the variable and the allowed values.

Each reader notes the name it was asked for in `NAMES`, so that a test can compare the settings with
`.env.example` and the table in docs/operations.md.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Sequence
from email.utils import parseaddr
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
SOCKET_PATH_LIMIT = 100  # sun_path holds 108 bytes on Linux and 104 on macOS
SECRET_LENGTH = 50  # what `manage.py check --deploy` asks for
HOST_NAME = re.compile(r"\*|\.?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
ADDRESS = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")
MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")

NAMES: dict[str, str] = {}  # variable → its default, as text


def read_file(path: Path) -> None:
    """Take variables from a `.env` file; the real environment wins."""
    if path.is_file():
        environ.Env.read_env(path, overwrite=False)


def refuse(name: str, value: str, allowed: str) -> ImproperlyConfigured:
    """The error for a bad value (the value of a secret is never passed here)."""
    return ImproperlyConfigured(f"{name}={value!r} can't be used. Allowed: {allowed}.")


def text(name: str, default: str) -> str:
    """A string; `NAME_FILE` may name a file that holds it (for secrets mounted as files)."""
    NAMES.setdefault(name, default)
    file = os.environ.get(f"{name}_FILE", "")
    if file:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise refuse(f"{name}_FILE", file, "the path of a readable text file") from error
    return os.environ.get(name, "").strip() or default


def boolean(name: str, default: bool) -> bool:
    """True for 1/true/yes/on, False for 0/false/no/off."""
    value = text(name, "on" if default else "off").lower()
    if value in TRUE | FALSE:
        return value in TRUE
    raise refuse(name, value, "on, off, true, false, yes, no, 1, 0")


def integer(name: str, default: int, *, least: int, most: int) -> int:
    """A whole number between `least` and `most`."""
    value = text(name, str(default))
    allowed = f"a whole number from {least} to {most}"
    if not re.fullmatch(r"-?[0-9]{1,12}", value) or not least <= int(value) <= most:
        raise refuse(name, value, allowed)
    return int(value)


def decimal(name: str, default: float, *, least: float, most: float) -> float:
    """A number between `least` and `most`, with or without a decimal point."""
    value = text(name, str(default))
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value) or not least <= float(value) <= most:
        raise refuse(name, value, f"a number from {least} to {most}, such as 0.15")
    return float(value)


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    value = text(name, default)
    if value not in allowed:
        raise refuse(name, value, ", ".join(allowed))
    return value


def words(name: str, default: Sequence[str], fits: Callable[[str], object], allowed: str) -> list[str]:
    """Words separated by commas, each of which `fits`."""
    value = text(name, ", ".join(default))
    found = [word.strip() for word in value.split(",") if word.strip()]
    for word in found:
        if not fits(word):
            raise refuse(name, word, f"{allowed}, separated by commas")
    return found


def host_names(name: str, default: Sequence[str]) -> list[str]:
    """Host names as in the Host header, without scheme, port or path."""
    return words(
        name, default, HOST_NAME.fullmatch, "host names such as example.org, .example.org or [::1], or *"
    )


def origins(name: str, default: Sequence[str]) -> list[str]:
    """Origins such as https://example.org, separated by commas."""
    return words(name, default, _is_origin, "origins with their scheme, such as https://example.org")


def _is_origin(value: str) -> bool:
    parts = _split(value)
    return parts is not None and parts.scheme in {"http", "https"} and value.count("/") == 2


def _split(url: str) -> SplitResult | None:
    """The parts of an address, or None where it has no host or a port that is no number."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.netloc and not re.search(r"\s", url) else None


def networks(name: str, default: Sequence[str]) -> list[str]:
    """Addresses or networks such as 10.0.0.0/8, separated by commas."""
    return words(name, default, _is_network, "addresses or networks such as 127.0.0.1 or 10.0.0.0/8")


def _is_network(value: str) -> bool:
    try:
        ip_network(value)
    except ValueError:
        return False
    return True


def address(name: str, default: str) -> str:
    """An IP address or host name to listen on."""
    value = text(name, default)
    if not ADDRESS.fullmatch(value):
        raise refuse(name, value, "an address to listen on, such as 127.0.0.1, 0.0.0.0 or ::1")
    return value


def folder(name: str, default: Path, *, make: bool = False) -> Path:
    """An absolute folder path, made where `make` says so."""
    value = Path(text(name, str(default))).expanduser().absolute()
    allowed = "the path of a folder that can be made and written to"
    if value.exists() and not value.is_dir():
        raise refuse(name, str(value), allowed)
    if make:
        try:
            value.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refuse(name, str(value), f"{allowed} ({error.strerror})") from error
    return value.resolve()


def http_url(name: str, default: str) -> str:
    """Empty, or an http(s) address without a trailing slash."""
    value = text(name, default)
    parts = _split(value)
    if value and (parts is None or parts.scheme not in {"http", "https"}):
        raise refuse(
            name, value, "an address such as https://example.org or http://127.0.0.1:8080/v1, or empty"
        )
    return value.rstrip("/")


def site_url(name: str, hosts: Sequence[str], *, https: bool, local: str) -> str:
    """The public address that links in mails start with: as given, or the first public name, or this machine."""
    public = [host for host in hosts if re.match(r"[A-Za-z]", host) and host != "localhost"]
    default = public[0] if public else local
    return http_url(name, "") or f"http{'s' if https else ''}://{default}"


def mail_address(name: str, default: str) -> str:
    """A mail address, with or without a display name."""
    value = text(name, default)
    if not re.fullmatch(r"[^@\s]+@[^@\s]+", parseaddr(value)[1]):
        raise refuse(name, value, "a mail address such as Prefill <prefill@example.org>")
    return value


def model(name: str, default: str) -> str:
    """A model's registry name, its hub id, or the path of a folder or GGUF file."""
    value = text(name, default)
    if not MODEL_NAME.fullmatch(value) and not Path(value).exists():
        raise refuse(
            name, value, f"a model's name such as {default}, a hub id owner/name, or an existing path"
        )
    return value


def secret(name: str, *, least: int) -> str:
    """Empty, or a password or token of `least` characters or more; the value is never shown."""
    value = text(name, "")
    if value and (len(value) < least or re.search(r"\s", value)):
        raise ImproperlyConfigured(
            f"{name} can't be used. Allowed: {least} characters or more without spaces, or empty."
        )
    return value


def secret_key(name: str, var_dir: Path, *, may_generate: bool) -> str:
    """The signing key: from the environment, or made once under var/ in embedded mode."""
    value = text(name, "")
    if value:
        return _checked_key(name, value)
    if not may_generate:
        raise ImproperlyConfigured(
            f"{name} is not set. Allowed: {SECRET_LENGTH} characters or more, random "
            "(it is made by itself only in embedded mode, without DATABASE_URL and REDIS_URL)."
        )
    return _generated_key(var_dir / "secret_key")


def secret_keys(name: str) -> list[str]:
    """Older signing keys that still verify, separated by commas."""
    return [_checked_key(name, key.strip()) for key in text(name, "").split(",") if key.strip()]


def _checked_key(name: str, value: str) -> str:
    if len(value) < SECRET_LENGTH or len(set(value)) < 5:
        raise ImproperlyConfigured(
            f"{name} is too weak. Allowed: {SECRET_LENGTH} characters or more, random."
        )
    return value


def _generated_key(file: Path) -> str:
    """The key in the file; made first where it is missing (whole before it has its name, so two starts agree)."""
    try:
        if not file.exists():
            _write_key(file)
    except OSError as error:
        allowed = f"the path of a folder that can be made and written to ({error.strerror})"
        raise refuse("VAR_DIR", str(file.parent), allowed) from error
    return _checked_key(str(file), file.read_text(encoding="ascii").strip())


def _write_key(file: Path) -> None:
    descriptor, draft = tempfile.mkstemp(dir=file.parent)  # mkstemp: readable by the owner only
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as handle:
            handle.write(secrets.token_urlsafe(48))
        os.link(draft, file)
    except FileExistsError:
        return  # another start was faster: its key is the key
    finally:
        os.unlink(draft)


def storage(name: str, media_root: Path) -> dict[str, Any]:
    """Django's storage entry for uploaded files: the folder, or an S3 bucket by s3://bucket/prefix?endpoint=…&region=…"""
    value = text(name, "")
    if not value:
        return {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": media_root, "file_permissions_mode": 0o600},
        }
    allowed = "empty, or s3://bucket/prefix with ?endpoint=https://…&region=… where they are needed"
    parts = urlsplit(value)
    asked = dict(parse_qsl(parts.query))
    if parts.scheme != "s3" or not parts.netloc or not set(asked) <= {"endpoint", "region"}:
        raise refuse(name, f"{parts.scheme}://…", allowed)
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(
            f"{name} names a bucket. Install the packages for it: pip install '.[s3]'."
        )
    options: dict[str, Any] = {"bucket_name": parts.netloc, "location": parts.path.strip("/")}
    options |= {"file_overwrite": False, "default_acl": None, "querystring_auth": True}
    options |= {f"{key}_{'url' if key == 'endpoint' else 'name'}": part for key, part in asked.items()}
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def redis_url(name: str, var_dir: Path) -> str:
    """Where Redis or Valkey answers; unset means the embedded Valkey's unix socket under var/."""
    value = text(name, "")
    if not value:
        return f"unix://{valkey_socket(var_dir)}"
    scheme = value.partition("://")[0]
    usable = _split(value) if scheme in {"redis", "rediss"} else scheme == "unix" and urlsplit(value).path
    if not usable:
        raise refuse(name, f"{scheme}://…", "redis://host:6379/0, rediss://… or unix:///path/to/socket")
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


def database(name: str, var_dir: Path) -> dict[str, Any]:
    """Django's database entry: SQLite in WAL mode under var/, or PostgreSQL by DATABASE_URL."""
    url = text(name, "") or f"sqlite:///{var_dir / 'prefill.sqlite3'}"
    scheme = url.partition("://")[0]
    if scheme not in {"postgres", "postgresql", "sqlite"} or (scheme != "sqlite" and not _split(url)):
        raise refuse(name, f"{scheme}://…", "postgres://user:password@host:5432/name or sqlite:////path/file")
    config: dict[str, Any] = dict(environ.Env.db_url_config(url))
    return _sqlite(config, var_dir) if scheme == "sqlite" else _postgresql(name, config)


def _sqlite(config: dict[str, Any], var_dir: Path) -> dict[str, Any]:
    config["OPTIONS"] = {
        # Writers take the lock at BEGIN: a reader that turns writer never fails half-way.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    }
    config["TEST"] = {"NAME": str(var_dir / "test.sqlite3")}
    return config


def _postgresql(name: str, config: dict[str, Any]) -> dict[str, Any]:
    if not config.get("NAME"):
        raise refuse(name, "postgres://…/", "postgres://user:password@host:5432/name (the name is missing)")
    # Under ASGI each request has a thread of its own: a pool keeps connections, CONN_MAX_AGE would leak them.
    config["CONN_MAX_AGE"] = 0
    config["CONN_HEALTH_CHECKS"] = True
    config["OPTIONS"] = {
        **config.get("OPTIONS", {}),
        "pool": {"min_size": 1, "max_size": 32, "timeout": 10},
    }
    return config


def email(name: str, default: str) -> dict[str, Any]:
    """Django's EMAIL_* settings from one address."""
    value = text(name, default)
    allowed = "smtp+tls://user:password@host:587, smtp+ssl://…, consolemail://, memorymail:// or dummymail://"
    try:
        return dict(environ.Env.email_url_config(value))
    except (KeyError, ValueError, environ.ImproperlyConfigured) as error:
        raise refuse(name, value.partition("://")[0] + "://…", allowed) from error
