"""Launches: who gets in, and every way in which one is refused."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.urls import reverse

from interview.accounts.models import User
from interview.lti.models import Course, Launch, Platform, PlatformAccount, ResourceLink
from interview.teaching.models import Membership
from tests.interview.lti.conftest import begin, came_from, launch
from tests.interview.lti.platform import CLIENT, SimulatedPlatform
from tests.interview.teaching.conftest import World, client_of

pytestmark = pytest.mark.django_db


def test_the_first_step_asks_as_openid_connect_wants(
    client: Client, moodle: SimulatedPlatform, platform: Platform
) -> None:
    asked = begin(client, moodle, platform)
    assert (asked["response_type"], asked["response_mode"], asked["scope"]) == (
        "id_token",
        "form_post",
        "openid",
    )
    assert (asked["client_id"], asked["login_hint"], asked["lti_message_hint"]) == (CLIENT, "42", "7")
    assert asked["redirect_uri"].endswith(reverse("lti:launch", args=[platform.pk]))
    cookie = client.cookies[f"lti1p3-{asked['state']}"]
    assert cookie.value == asked["state"] and cookie["httponly"]


def test_over_https_the_state_survives_a_form_from_elsewhere(
    client: Client, moodle: SimulatedPlatform, platform: Platform
) -> None:
    data = {"iss": moodle.url, "login_hint": "42", "client_id": CLIENT}
    answer = client.post(reverse("lti:login", args=[platform.pk]), data, secure=True)
    (cookie,) = [morsel for name, morsel in answer.cookies.items() if name.startswith("lti1p3-")]
    assert (cookie["samesite"], bool(cookie["secure"])) == ("None", True)


def test_a_learner_lands_at_the_assignment(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    answer: Any = launch(client, moodle, platform)
    assert answer.redirect_chain[-1][0] == reverse(
        "teaching:assignment", args=[world.classroom.pk, world.assignment.pk]
    )
    account = PlatformAccount.objects.get(platform=platform, sub="user-1")
    assert (account.owner.name, account.owner.has_usable_password()) == ("Noa Learner", False)
    assert Membership.objects.get(classroom=world.classroom, owner=account.owner).role == "learner"
    assert Launch.objects.get().claims is None, "what a launch said is forgotten once it arrived"


def test_the_platforms_word_on_an_address_opens_no_account(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    launch(client, moodle, platform, email=world.learner.email)
    assert PlatformAccount.objects.get().owner != world.learner
    assert not User.objects.filter(email="noa@example.org").exists()


def test_the_second_launch_is_the_same_person(
    moodle: SimulatedPlatform, platform: Platform, link: ResourceLink
) -> None:
    for _ in range(2):
        launch(Client(), moodle, platform)
    assert PlatformAccount.objects.count() == 1 and User.objects.filter(name="Noa Learner").count() == 1


def test_two_platforms_with_one_issuer_are_two_people(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    """Anybody may register an issuer's name; only the registration that made an account opens it."""
    launch(client, moodle, platform)
    same = ("name", "issuer", "client_id", "deployments", "login_url", "token_url", "keys_url")
    copy = Platform.objects.create(owner=world.stranger, **{name: getattr(platform, name) for name in same})
    Course.objects.create(platform=copy, classroom=world.elsewhere, context="course-9")
    launch(Client(), moodle, copy)
    assert len(set(PlatformAccount.objects.values_list("owner", flat=True))) == 2


def refused(answer: Any, *words: str) -> None:
    text = answer.content.decode()
    assert answer.status_code == 403 and "The launch didn’t work" in text
    for word in words:
        assert word in text
    assert not PlatformAccount.objects.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exp": int(time.time()) - 3_600, "iat": int(time.time()) - 7_200}, "has expired"),
        ({"exp": None}, "exp"),
        ({"iat": int(time.time()) + 3_600}, "iat"),
        ({"aud": "somebody-else"}, "client id “somebody-else”"),
        ({"aud": [CLIENT, "another"]}, "isn’t valid"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "client id “another”"),
        ({"deployment_id": "99"}, "deployment “99” of “Our Moodle” isn’t let in"),
        ({"iss": "https://evil.example.org"}, "issuer “https://evil.example.org”"),
        ({"sub": None}, "sub"),
        ({"nonce": "another"}, "used already"),
        ({"message_type": "LtiSubmissionReviewRequest"}, "isn’t"),
    ],
)
def test_a_wrong_token_is_refused(
    client: Client,
    moodle: SimulatedPlatform,
    platform: Platform,
    link: ResourceLink,
    changes: dict[str, Any],
    words: str,
) -> None:
    refused(launch(client, moodle, platform, follow=False, **changes), words)


def test_an_audience_of_several_with_the_right_party_is_let_in(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink
) -> None:
    answer = launch(client, moodle, platform, follow=False, aud=["another", CLIENT], azp=CLIENT)
    assert answer.status_code == 302


def sent(client: Client, platform: Platform, state: str, token: str) -> Any:
    return client.post(reverse("lti:launch", args=[platform.pk]), {"state": state, "id_token": token})


@pytest.mark.parametrize(
    "how", ["another key", "unknown kid", "no signature", "shared secret", "not a token"]
)
def test_a_signature_that_isnt_the_platforms_is_refused(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, how: str
) -> None:
    asked = begin(client, moodle, platform)
    claims = moodle.claims(asked["nonce"])
    forged: dict[str, Any] = {
        "another key": lambda: moodle.sign(claims, key=rsa.generate_private_key(65537, 2048)),
        "unknown kid": lambda: moodle.sign(claims, kid="other"),
        "no signature": lambda: jwt.encode(claims, "", algorithm="none", headers={"kid": moodle.kid}),
        "shared secret": lambda: jwt.encode(claims, "x" * 32, algorithm="HS256", headers={"kid": moodle.kid}),
        "not a token": lambda: "a.b.c",
    }
    refused(sent(client, platform, asked["state"], forged[how]()))


def test_a_launch_works_once(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink
) -> None:
    asked = begin(client, moodle, platform)
    token = moodle.sign(moodle.claims(asked["nonce"]))
    assert sent(client, platform, asked["state"], token).status_code == 302
    refused(sent(client, platform, asked["state"], token), "used already")


def test_a_launch_that_waited_too_long_is_refused(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink
) -> None:
    asked = begin(client, moodle, platform)
    Launch.objects.update(created=Launch.objects.get().created.replace(year=2020))
    refused(sent(client, platform, asked["state"], moodle.sign(moodle.claims(asked["nonce"]))), "older than")


def test_another_browser_cant_finish_a_launch(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink
) -> None:
    """The state belongs to the browser that began: a token sent on to somebody else signs nobody in."""
    asked = begin(client, moodle, platform)
    token = moodle.sign(moodle.claims(asked["nonce"]))
    refused(sent(Client(), platform, asked["state"], token), "This browser didn’t begin this launch")
    assert sent(client, platform, asked["state"], token).status_code == 302
    refused(Client().get(reverse("lti:enter", args=[asked["state"]])), "over")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"iss": "https://evil.example.org"}, "issuer “https://evil.example.org”"),
        ({"client_id": "client-8"}, "client id “client-8”"),
        ({"iss": ""}, "names no issuer"),
        ({"login_hint": ""}, "no login hint"),
    ],
)
def test_a_wrong_first_step_is_named(
    client: Client, moodle: SimulatedPlatform, platform: Platform, changes: dict[str, str], words: str
) -> None:
    data = {"iss": moodle.url, "login_hint": "42", "client_id": CLIENT, **changes}
    refused(client.get(reverse("lti:login", args=[platform.pk]), data), words)
    assert not Launch.objects.exists()


def test_a_key_set_on_another_host_is_never_asked(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, settings: Any
) -> None:
    settings.LTI_HOSTS = ["moodle.example.org"]
    refused(launch(client, moodle, platform, follow=False), "LTI_HOSTS")


def test_a_platform_that_is_away_is_told(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink
) -> None:
    Platform.objects.update(keys_url="http://127.0.0.1:9/keys")
    refused(launch(client, moodle, platform, follow=False))


def test_inside_a_frame_a_window_is_offered(
    client: Client, moodle: SimulatedPlatform, platform: Platform
) -> None:
    data = {"iss": moodle.url, "login_hint": "42", "client_id": CLIENT}
    address = reverse("lti:login", args=[platform.pk])
    answer = client.post(address, data, headers={"Sec-Fetch-Dest": "iframe"})
    assert "frame-ancestors *" in answer["Content-Security-Policy"] and "X-Frame-Options" not in answer
    page = answer.content.decode()
    assert 'target="_blank"' in page and f"{address}?iss=" in page and not Launch.objects.exists()


def test_a_signed_in_browser_is_asked_whose_account_it_is(
    moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    client = client_of(world.classmate)
    answer: Any = launch(client, moodle, platform)
    page = answer.content.decode()
    assert "Which account?" in page and world.classmate.email in page and not PlatformAccount.objects.exists()
    enter = answer.redirect_chain[0][0]
    client.post(enter, {"choice": "link"}, follow=True)
    assert PlatformAccount.objects.get().owner == world.classmate
    other: Any = launch(client_of(world.learner), moodle, platform)
    assert "belongs to another account" in other.content.decode()
    moved = client_of(world.learner)
    enter = launch(moved, moodle, platform).redirect_chain[0][0]
    moved.post(enter, {"choice": "link"}, follow=True)
    assert PlatformAccount.objects.get().owner == world.classmate, "linked once, nobody else takes it"
    moved.post(enter, {"choice": "switch"}, follow=True)
    assert moved.session["_auth_user_id"] == str(world.classmate.pk)


def test_a_separate_account_signs_the_other_out(
    moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    client = client_of(world.classmate)
    enter = launch(client, moodle, platform).redirect_chain[0][0]
    client.post(enter, {"choice": "switch"}, follow=True)
    made = PlatformAccount.objects.get().owner
    assert made != world.classmate and client.session["_auth_user_id"] == str(made.pk)


def test_an_account_already_linked_links_nobody_else(
    moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    came_from(platform, world.classmate, "somebody")
    client = client_of(world.classmate)
    enter = launch(client, moodle, platform).redirect_chain[0][0]
    answer = client.post(enter, {"choice": "link"})
    assert answer.status_code == 403 and "linked with somebody else" in answer.content.decode()


def test_a_platform_account_gets_an_address_and_a_password(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, mailoutbox: Any
) -> None:
    launch(client, moodle, platform)
    page = client.get(reverse("accounts:email_change")).content.decode()
    assert "current_password" not in page
    answer = client.post(reverse("accounts:email_change"), {"email": "noa@example.org"})
    assert answer.status_code == 302
    user = PlatformAccount.objects.get().owner
    User.objects.filter(pk=user.pk).update(email="noa@example.org")
    reset = Client().post(reverse("accounts:password_reset"), {"email": "noa@example.org"})
    assert reset.status_code == 302
    for _ in range(50):
        if any("password" in letter.subject for letter in mailoutbox):
            break
        time.sleep(0.1)
    assert {letter.to[0] for letter in mailoutbox} == {"noa@example.org"}


def test_off_by_default(client: Client, world: World, settings: Any) -> None:
    settings.LTI_HOSTS = []
    for name, args in (("key_set", []), ("platform_list", []), ("login", [world.classroom.pk])):
        assert client.get(reverse(f"lti:{name}", args=args)).status_code == 404
    assert (
        "Moodle"
        not in client_of(world.owner)
        .get(reverse("teaching:class_edit", args=[world.classroom.pk]))
        .content.decode()
    )
