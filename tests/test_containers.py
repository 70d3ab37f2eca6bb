"""The container files agree with the settings, the commands and each other, and hold no secret."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from interview.environment import NAMES

ROOT = Path(__file__).resolve().parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("prepare", "web", "worker")
FIXED = {"VAR_DIR", "MODELS_DIR", "HOST", "PORT", "DEBUG"}  # set by the image, or never on in one
SECRETS = {"SECRET_KEY", "SECRET_KEY_FALLBACKS", "POSTGRES_PASSWORD", "DEMO_PASSWORD", "METRICS_TOKEN"}


def test_the_services_are_those_of_the_manual() -> None:
    assert set(SERVICES) == {"prepare", "web", "worker", "postgres", "redis"}


@pytest.mark.parametrize("name", OURS)
def test_every_setting_reaches_the_processes(name: str) -> None:
    assert set(SERVICES[name]["environment"]) == set(NAMES) - FIXED


def test_defaults_are_those_of_the_settings() -> None:
    """Compose passes `NAME: ${NAME:-default}`; another default there would be a second truth."""
    for name, value in SERVICES["web"]["environment"].items():
        given = re.fullmatch(r"\$\{([A-Z_]+):-(.*)\}", value)
        if given and name != "LOG_FORMAT":
            assert given.groups() == (name, NAMES[name])


@pytest.mark.parametrize("service", SERVICES)
def test_no_secret_is_written_down(service: str) -> None:
    for name, value in SERVICES[service].get("environment", {}).items():
        if name in SECRETS:
            assert re.fullmatch(r"\$\{[A-Z_]+:[?-][^}]*\}", value), name
            assert not re.search(r":-.+\}", value), f"{name} must have no default"
    assert "@postgres" not in str(SERVICES[service]) or "${POSTGRES_PASSWORD:?" in str(SERVICES[service])


@pytest.mark.parametrize("name", ["SECRET_KEY", "ALLOWED_HOSTS"])
def test_what_production_needs_is_asked_for(name: str) -> None:
    assert SERVICES["web"]["environment"][name].startswith(f"${{{name}:?")


@pytest.mark.parametrize("service", [name for name in SERVICES if name != "prepare"])
def test_every_lasting_service_has_a_health_check_and_comes_back(service: str) -> None:
    assert SERVICES[service]["healthcheck"]["test"][0].startswith("CMD")
    assert SERVICES[service]["restart"] == "unless-stopped"


def test_everything_waits_for_what_it_needs() -> None:
    for name in ("web", "worker"):
        needs = {key: value["condition"] for key, value in SERVICES[name]["depends_on"].items()}
        assert needs == {
            "prepare": "service_completed_successfully",
            "postgres": "service_healthy",
            "redis": "service_healthy",
        }


def test_data_outlives_the_containers() -> None:
    mounted = {volume.partition(":")[0] for service in SERVICES.values() for volume in service["volumes"]}
    assert mounted == set(COMPOSE["volumes"]) == {"var", "postgres", "redis"}


def test_only_the_loopback_address_is_published() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == 1 and published[0].startswith("127.0.0.1:")


@pytest.mark.parametrize("service", OURS)
def test_commands_exist(service: str) -> None:
    command = SERVICES[service]["command"]
    check = SERVICES[service].get("healthcheck", {"test": ["CMD", "python", "-m", "interview.serve.probe"]})[
        "test"
    ]
    for words in (command, check[1:]):
        if words[1] == "-m":
            assert importlib.util.find_spec(words[2]) is not None
        else:
            assert words[:2] == ["python", "manage.py"] and (ROOT / words[1]).is_file()


def test_the_procfile_starts_the_same_processes() -> None:
    lines = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())
    assert lines["web"].split() == SERVICES["web"]["command"]
    assert lines["worker"].split() == SERVICES["worker"]["command"]
    assert lines["release"].split() == SERVICES["prepare"]["command"]


def test_the_image_runs_as_nobody_special_and_copies_only_what_exists() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert re.findall(r"^USER (\S+)", text, re.MULTILINE)[-1] == "prefill"
    assert not re.search(r"^(ENV|ARG) .*(KEY|PASSWORD|TOKEN)=", text, re.MULTILINE)
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists() and source in allowed
