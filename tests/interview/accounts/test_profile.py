"""The account page: name and zone; guests and visitors see where they stand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client

from interview.accounts.forms import zone_choices
from interview.accounts.models import User
from tests.interview.accounts.doors import become_guest

pytestmark = pytest.mark.django_db
URL = "/account/"


def test_name_and_zone_are_saved(owner_client: Client, owner: User) -> None:
    answer = owner_client.post(URL, {"name": "  Olive   O. ", "time_zone": "America/Sao_Paulo"})
    assert answer["Location"] == URL
    owner.refresh_from_db()
    assert (owner.name, owner.time_zone) == ("Olive O.", "America/Sao_Paulo")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "x" * 81),
        ("name", "x" * 100_000),
        ("name", "null\x00"),
        ("name", "bell\x07"),
        ("time_zone", ""),
        ("time_zone", "Mars/Olympus"),
        ("time_zone", "<script>"),
        ("time_zone", "x" * 100_000),
        ("time_zone", "UTC\x00"),
    ],
)
def test_bad_input_names_the_field_and_changes_nothing(
    owner_client: Client, owner: User, field: str, value: str
) -> None:
    answer = owner_client.post(URL, {"name": "New", "time_zone": "UTC", field: value})
    assert answer.status_code == 422 and list(answer.context["form"].errors) == [field]
    owner.refresh_from_db()
    assert owner.name == "Olive Owner"


def test_markup_in_a_name_is_inert(owner_client: Client) -> None:
    owner_client.post(URL, {"name": "<script>alert(1)</script>", "time_zone": "UTC"})
    page = owner_client.get(URL).content.decode()
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


def test_a_guest_sees_what_is_kept(anonymous_client: Client) -> None:
    become_guest(anonymous_client)
    page = anonymous_client.get(URL).content.decode()
    assert "You are here as a guest" in page and "/account/export/" in page


def test_a_visitor_is_told_that_nothing_is_kept(anonymous_client: Client) -> None:
    page = anonymous_client.get(URL).content.decode()
    assert "Nothing of yours is kept yet" in page and "/account/export/" not in page
    assert not User.objects.exists()


def test_the_zone_in_use_is_among_the_choices() -> None:
    assert ("US/Pacific", "US/Pacific") in zone_choices("US/Pacific")
    assert zone_choices("UTC")[0] == ("UTC", "UTC")
    regions = dict(zone_choices("UTC")[1:])
    assert ("America/Argentina/La_Rioja", "Argentina, La Rioja") in regions["America"]


def test_times_are_shown_in_ones_own_zone(owner_client: Client, owner: User) -> None:
    joined = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
    User.objects.filter(pk=owner.pk).update(date_joined=joined, time_zone="Asia/Tokyo")
    assert "2 January 2026" in owner_client.get(URL).content.decode()


def test_a_zone_the_database_no_longer_knows_breaks_no_page(owner_client: Client, owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(time_zone="Gone/Zone")
    assert owner_client.get(URL).status_code == 200
