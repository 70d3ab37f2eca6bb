"""Settings: listed in three places alike, loud on a bad value, safe by default, clean in production."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings
from kombu.exceptions import OperationalError

from interview import environment
from interview.celery import app as celery
from interview.runs.tasks import execute_run

ROOT = Path(settings.BASE_DIR)
RANDOM_KEY = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# One value for each variable that must be refused, and a piece of what is allowed instead.
BAD = {
    "VAR_DIR": ("/dev/null", "folder"),
    "DATABASE_URL": ("mysql://user:hidden@db/prefill", "postgres://"),
    "REDIS_URL": ("redis://user:hidden@cache:port/0", "redis://host:6379/0"),
    "DEBUG": ("maybe", "on, off"),
    "HTTPS": ("tls", "on, off"),
    "SECRET_KEY": ("hidden", "50 characters"),
    "SECRET_KEY_FALLBACKS": ("hidden", "50 characters"),
    "HOST": ("http://here", "127.0.0.1"),
    "PORT": ("65536", "0 to 65535"),
    "ALLOWED_HOSTS": ("https://example.org", "host names"),
    "SITE_URL": ("example.org", "https://example.org"),
    "CSRF_TRUSTED_ORIGINS": ("example.org", "https://example.org"),
    "TRUSTED_PROXIES": ("proxy.example.org", "10.0.0.0/8"),
    "EMBED_ANCESTORS": ("https://example.org/page", "https://example.org"),
    "DEMO": ("2", "on, off"),
    "DEMO_PASSWORD": ("hidden", "10 characters"),
    "METRICS_TOKEN": ("hidden", "16 characters"),
    "EMAIL_URL": ("pigeon://user:hidden@coop", "smtp+tls://"),
    "DEFAULT_FROM_EMAIL": ("Prefill", "prefill@example.org"),
    "WORKER_THREADS": ("many", "1 to 256"),
    "RUN_QUEUE_LIMIT": ("0", "1 to 10000"),
    "RUN_PARALLEL_LIMIT": ("0", "1 to 1000"),
    "RUN_TOKENS_PER_DAY": ("a lot", "0 to 2000000000"),
    "RUN_LEASE_SECONDS": ("1e3", "5 to 600"),
    "RUN_TIME_LIMIT_SECONDS": ("-1", "10 to 86400"),
    "TRACE_RETENTION_DAYS": ("for ever", "0 to 36500"),
    "TRACE_TEXT": ("some", "keep, hash"),
    "PRICE_INPUT_USD": ("1e-3", "0 to 100000"),
    "PRICE_OUTPUT_USD": ("-0.6", "0 to 100000"),
    "DOCUMENT_STORAGE": ("ftp://user:hidden@host", "s3://bucket"),
    "DOCUMENT_MAX_MB": ("0", "1 to 1000"),
    "DOCUMENTS_PER_USER": ("none", "1 to 100000"),
    "DOCUMENTS_USER_MB": ("-5", "1 to 1000000"),
    "DOCUMENTS_PER_COLLECTION": ("0", "1 to 10000"),
    "DOCUMENT_PARSE_SECONDS": ("forever", "1 to 3600"),
    "DOCUMENT_PARSE_MEMORY_MB": ("64", "128 to 65536"),
    "LTI_HOSTS": ("https://moodle.example.org", "host names"),
    "WEBHOOK_PRIVATE_HOSTS": ("https://grades.example.org/x", "host names"),
    "ENGINE_URL": ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
    "ENGINE_KEY": ("hidden", "8 characters"),
    "ENGINE_MODEL": ("the best one", "smollm2-135m-instruct"),
    "MODELS_DIR": ("/dev/null", "folder"),
    "ENGINE_THREADS": ("two", "0 to 1024"),
    "ENGINE_KERNEL": ("fast", "auto, off"),
    "ENGINE_CONTEXT": ("²", "0 to 1048576"),
    "LOG_LEVEL": ("loud", "DEBUG, INFO, WARNING, ERROR"),
    "LOG_FORMAT": ("xml", "console, json"),
}


def manage(var_dir: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`manage.py` in a process of its own that sees these variables and none of this test run's."""
    clean = {name: value for name, value in os.environ.items() if name not in environment.NAMES}
    clean["DJANGO_SETTINGS_MODULE"] = "interview.settings"
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={**clean, "VAR_DIR": str(var_dir), **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_every_variable_has_a_bad_value_to_try() -> None:
    assert set(BAD) == set(environment.NAMES)


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_bad_value_stops_the_start_in_one_line(name: str, tmp_path: Path) -> None:
    value, allowed = BAD[name]
    done = manage(tmp_path, "check", **{name: value})
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert name in line and "Allowed: " in line and allowed in line.partition("Allowed: ")[2]
    assert "hidden" not in line, "a secret must not be printed"


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(RANDOM_KEY + "\n")
    done = manage(tmp_path, "shell", "-v0", "-c", "from django.conf import settings; print(settings.SECRET_KEY)", SECRET_KEY_FILE=str(key))  # fmt: skip
    assert done.stdout.strip() == RANDOM_KEY
    missing = manage(tmp_path, "check", SECRET_KEY_FILE=str(tmp_path / "none"))
    assert missing.returncode == 1 and "SECRET_KEY_FILE" in missing.stderr


def test_example_lists_every_variable_with_its_default() -> None:
    listed = dict(re.findall(r"^#([A-Z_]+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert set(listed) == set(environment.NAMES)
    own = {name: value for name, value in os.environ.items() if name not in environment.NAMES}
    code = (
        "import interview.settings, json; from interview.environment import NAMES; print(json.dumps(NAMES))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    defaults = __import__("json").loads(done.stdout)
    defaults |= {"VAR_DIR": "var", "MODELS_DIR": "var/models"}
    defaults["ALLOWED_HOSTS"] = defaults["ALLOWED_HOSTS"].removesuffix(", 127.0.0.1")  # HOST, once more
    assert listed == defaults


def test_the_manual_explains_every_variable() -> None:
    table = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    assert sorted(table) == sorted(environment.NAMES)


def test_embedded_mode_makes_its_own_key_once(tmp_path: Path) -> None:
    assert manage(tmp_path, "check").returncode == 0
    file = tmp_path / "secret_key"
    first = file.read_text()
    assert len(first) >= 50 and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert manage(tmp_path, "check").returncode == 0
    assert file.read_text() == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret_key"]


@pytest.mark.parametrize(
    "services", [{"DATABASE_URL": "postgres://db/prefill"}, {"REDIS_URL": "redis://cache/0"}]
)
def test_services_mode_asks_for_a_key(services: dict[str, str], tmp_path: Path) -> None:
    done = manage(tmp_path, "check", **services)
    assert done.returncode == 1 and "SECRET_KEY is not set" in done.stderr
    assert not (tmp_path / "secret_key").exists()


def test_production_passes_the_deployment_check(tmp_path: Path) -> None:
    done = manage(
        tmp_path,
        "check",
        "--deploy",
        "--fail-level=INFO",
        SECRET_KEY=RANDOM_KEY,
        ALLOWED_HOSTS="example.org",
        DATABASE_URL="postgres://prefill@db.example.org/prefill",
        REDIS_URL="redis://cache.example.org/0",
    )
    assert done.returncode == 0, done.stderr
    assert "no issues (0 silenced)" in done.stdout


def test_the_public_address_is_taken_from_the_public_name(tmp_path: Path) -> None:
    show = "from django.conf import settings; print(settings.SITE_URL)"
    named = manage(
        tmp_path, "shell", "-v0", "-c", show, ALLOWED_HOSTS="localhost, 10.0.0.7, practice.example.org"
    )
    assert named.stdout.strip() == "https://practice.example.org"
    local = manage(tmp_path, "shell", "-v0", "-c", show, HOST="::1", PORT="8123", HTTPS="off")
    assert local.stdout.strip() == "http://[::1]:8123"


def test_pages_carry_the_security_headers(client: object, settings: object, db: None) -> None:
    response = client.get("/calculators/", follow=True)  # type: ignore[attr-defined]
    policy = dict(part.strip().split(" ", 1) for part in response["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
    assert policy["object-src"] == "'none'" and policy["base-uri"] == "'none'"
    assert "unsafe" not in response["Content-Security-Policy"]
    assert response["X-Content-Type-Options"] == "nosniff" and response["X-Frame-Options"] == "DENY"


def test_https_sends_everybody_to_tls_with_secure_cookies(tmp_path: Path) -> None:
    code = (
        "from django.test import Client; from django.conf import settings;"
        "plain = Client().get('/account/sign-in/', headers={'host': 'localhost'});"
        "safe = Client().get('/healthz/live', secure=True, headers={'host': 'localhost'});"
        "probe = Client().get('/healthz/live', headers={'host': 'localhost'});"
        "print(plain.status_code, plain['Location'], safe['Strict-Transport-Security'], probe.status_code,"
        " settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, sep='|')"
    )
    done = manage(tmp_path, "shell", "-v0", "-c", code)
    assert done.stdout.strip() == (
        "301|https://localhost/account/sign-in/|max-age=31536000; includeSubDomains; preload|200|True|True"
    ), done.stderr


@pytest.mark.parametrize(
    ("folder", "short"), [(Path("/srv/prefill/var"), False), (Path("/srv") / ("x" * 120), True)]
)
def test_the_socket_name_fits(folder: Path, short: bool) -> None:
    socket = environment.valkey_socket(folder)
    assert len(str(socket)) <= environment.SOCKET_PATH_LIMIT
    assert (folder in socket.parents) is not short


@pytest.mark.parametrize("url", ["redis://127.0.0.1:9/0", "redis+socket:///no/such/valkey.sock"])
def test_a_lost_broker_is_noticed_at_once(url: str) -> None:
    """Whoever submits while the broker is away must not wait for it (the run's row is saved already)."""
    began = time.monotonic()
    with celery.connection_for_write(url) as connection, pytest.raises(OperationalError):
        execute_run.apply_async(("1",), connection=connection, retry=False)
    assert time.monotonic() - began < 1
