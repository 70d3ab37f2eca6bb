"""Every route about learning platforms and who may use it, and what platforms read about this site."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from interview.lti.keys import key_create, key_set, signing_key
from interview.lti.models import Course, Platform, PlatformAccount, ResourceLink, ToolKey
from interview.lti.platforms import endpoints
from interview.lti.urls import urlpatterns
from tests.interview.lti.conftest import came_from
from tests.interview.teaching.conftest import World, client_of

pytestmark = pytest.mark.django_db
PERSONAS = ("nobody", "stranger", "learner", "assistant", "teacher", "owner")
Args = Callable[[World, ResourceLink], list[Any]]


def none(world: World, link: ResourceLink) -> list[Any]:
    return []


def its_platform(world: World, link: ResourceLink) -> list[Any]:
    return [link.course.platform_id]


def cls(world: World, link: ResourceLink) -> list[Any]:
    return [world.classroom.pk]


def its_link(world: World, link: ResourceLink) -> list[Any]:
    return [world.classroom.pk, link.pk]


def its_course(world: World, link: ResourceLink) -> list[Any]:
    return [world.classroom.pk, link.course_id]


def made_up(world: World, link: ResourceLink) -> list[Any]:
    return ["state-made-up"]


# The platform was registered by the class's owner.
ROUTES: dict[str, tuple[str, Args, tuple[int, ...]]] = {
    "key_set": ("get", none, (200,) * 6),
    "canvas_config": ("get", its_platform, (200,) * 6),
    "login": ("post", its_platform, (403,) * 6),
    "launch": ("post", its_platform, (403,) * 6),
    "enter": ("get", made_up, (403,) * 6),
    "place": ("get", made_up, (403,) * 6),
    "platform_list": ("get", none, (302, 200, 200, 200, 200, 200)),
    "platform_create": ("get", none, (302, 200, 200, 200, 200, 200)),
    "platform": ("get", its_platform, (302, 404, 404, 404, 404, 200)),
    "platform_delete": ("post", its_platform, (302, 404, 404, 404, 404, 302)),
    "course": ("get", cls, (302, 404, 403, 200, 200, 200)),
    "scores_again": ("post", its_link, (302, 404, 403, 403, 302, 302)),
    "link_forget": ("post", its_link, (302, 404, 403, 403, 302, 302)),
    "course_unlink": ("post", its_course, (302, 404, 403, 403, 403, 302)),
}
PUBLIC = {"key_set", "canvas_config", "login", "launch", "enter", "place"}


def test_every_route_is_in_the_table() -> None:
    assert {pattern.name for pattern in urlpatterns} == set(ROUTES)


@pytest.mark.parametrize("persona", PERSONAS)
@pytest.mark.parametrize("name", ROUTES)
def test_rights(world: World, link: ResourceLink, name: str, persona: str) -> None:
    method, args, expected = ROUTES[name]
    client = Client() if persona == "nobody" else client_of(getattr(world, persona))
    answer = getattr(client, method)(reverse(f"lti:{name}", args=args(world, link)))
    assert answer.status_code == expected[PERSONAS.index(persona)]
    if persona == "nobody" and name not in PUBLIC:
        assert answer["Location"].startswith("/account/sign-in/?next=")


@pytest.mark.parametrize("name", [name for name, row in ROUTES.items() if row[0] == "post"])
def test_own_forms_need_their_csrf_token(world: World, link: ResourceLink, name: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.owner)
    answer = client.post(reverse(f"lti:{name}", args=ROUTES[name][1](world, link)))
    launches = name in ("login", "launch")
    assert answer.status_code == 403 and ("The launch didn’t work" in answer.content.decode()) == launches


def test_a_link_of_another_class_isnt_reached(world: World, link: ResourceLink) -> None:
    client = client_of(world.stranger)
    for name, pk in (("scores_again", link.pk), ("link_forget", link.pk), ("course_unlink", link.course_id)):
        client.post(reverse(f"lti:{name}", args=[world.elsewhere.pk, pk]))
    assert ResourceLink.objects.filter(pk=link.pk).exists() and Course.objects.exists()


def test_registering_a_platform(world: World, settings: Any) -> None:
    settings.LTI_HOSTS = ["moodle.example.org"]
    client = client_of(world.owner)
    data = {"name": "Our Moodle", "kind": "moodle", "address": "https://moodle.example.org/"}
    answer: Any = client.post(reverse("lti:platform_create"), data, follow=True)
    made = Platform.objects.get()
    page = answer.content.decode()
    assert (made.issuer, made.keys_url) == (
        "https://moodle.example.org",
        "https://moodle.example.org/mod/lti/certs.php",
    )
    for name in ("login", "launch"):
        assert reverse(f"lti:{name}", args=[made.pk]) in page
    assert "Launches are refused until" in page
    details = {
        "name": made.name,
        "client_id": "abc",
        "deployments": "1\n 2 \n1\n",
        "issuer": made.issuer,
        "login_url": made.login_url,
        "token_url": made.token_url,
        "keys_url": made.keys_url,
    }
    client.post(reverse("lti:platform", args=[made.pk]), details)
    made.refresh_from_db()
    assert (made.client_id, made.deployments, made.ready) == ("abc", ["1", "2"], True)


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example.org",
        "ftp://moodle.example.org",
        "moodle.example.org",
        "https://moodle.example.org@evil.example.org",
        "https://evil.example.org\\@moodle.example.org",
        "https://moodle.example.org:x/",
        "https://[::1",
    ],
)
def test_an_address_elsewhere_is_refused_and_told(world: World, settings: Any, address: str) -> None:
    settings.LTI_HOSTS = ["moodle.example.org", ".instructure.com"]
    data = {"name": "Our Moodle", "kind": "moodle", "address": address}
    answer = client_of(world.owner).post(reverse("lti:platform_create"), data)
    page = answer.content.decode()
    assert answer.status_code == 422 and "moodle.example.org, .instructure.com" in page
    assert not Platform.objects.exists()


def test_https_only_where_the_site_itself_is(world: World, settings: Any) -> None:
    settings.LTI_HOSTS, settings.HTTPS = ["moodle.example.org"], True
    data = {"name": "Our Moodle", "kind": "moodle", "address": "http://moodle.example.org"}
    answer = client_of(world.owner).post(reverse("lti:platform_create"), data, secure=True)
    assert answer.status_code == 422


def test_canvas_in_the_cloud_signs_in_elsewhere() -> None:
    cloud = endpoints("canvas", "https://school.instructure.com")
    own = endpoints("canvas", "https://canvas.school.example")
    assert cloud["keys_url"] == "https://sso.canvaslms.com/api/lti/security/jwks"
    assert own["keys_url"] == "https://canvas.school.example/api/lti/security/jwks"
    assert cloud["issuer"] == own["issuer"] == "https://canvas.instructure.com"


def test_canvas_reads_its_configuration(world: World, link: ResourceLink, client: Client) -> None:
    config = client.get(reverse("lti:canvas_config", args=[link.course.platform_id])).json()
    assert config["oidc_initiation_url"].endswith(reverse("lti:login", args=[link.course.platform_id]))
    assert config["public_jwk_url"].endswith(reverse("lti:key_set"))
    placements = config["extensions"][0]["settings"]["placements"]
    assert {row["placement"] for row in placements} == {
        "assignment_selection",
        "link_selection",
        "course_navigation",
    }


def test_the_key_set_holds_public_halves_only(client: Client, world: World, link: ResourceLink) -> None:
    (key,) = client.get(reverse("lti:key_set")).json()["keys"]
    assert (key["kty"], key["alg"], key["use"]) == ("RSA", "RS256", "sig") and "d" not in key
    assert "PRIVATE" not in ToolKey.objects.get().private


def test_a_changed_secret_key_reads_old_keys_by_its_fallback(world: World, settings: Any) -> None:
    before = signing_key()
    old = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 50, [old]
    assert signing_key() == before
    settings.SECRET_KEY_FALLBACKS = []
    assert signing_key() != before and len(key_set()["keys"]) == 2


def test_a_second_key_keeps_the_first_in_the_set(world: World) -> None:
    signing_key()
    key_create()
    assert len({key["kid"] for key in key_set()["keys"]}) == 2


def test_removing_a_platform_keeps_people_and_work(world: World, link: ResourceLink) -> None:
    came_from(link.course.platform, world.learner, "user-1")
    client_of(world.owner).post(reverse("lti:platform_delete", args=[link.course.platform_id]))
    assert not PlatformAccount.objects.exists() and not Course.objects.exists()
    assert world.seat(world.learner).left is None
