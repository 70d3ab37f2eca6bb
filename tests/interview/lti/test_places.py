"""Where a launch goes: the course's class, the link's assignment, and what a teacher says on the way."""

from __future__ import annotations

import json
from typing import Any

import jwt
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from jwt.algorithms import RSAAlgorithm

from interview.lti.keys import key_set
from interview.lti.models import Course, Platform, PlatformAccount, ResourceLink
from interview.teaching.models import Classroom, Membership
from tests.interview.lti.conftest import TEACHING, came_from, launch
from tests.interview.lti.platform import ASSISTANT, CLIENT, DEPLOYMENT, INSTRUCTOR, SimulatedPlatform
from tests.interview.teaching.conftest import World, client_of

pytestmark = pytest.mark.django_db
DEEP = "https://purl.imsglobal.org/spec/lti-dl/claim/"


def role_of(world: World, sub: str) -> str:
    account = PlatformAccount.objects.get(sub=sub)
    return Membership.objects.get(classroom=world.classroom, owner=account.owner).role


@pytest.mark.parametrize(
    ("roles", "role"),
    [
        ([INSTRUCTOR], "teacher"),
        (["Instructor"], "teacher"),
        ([INSTRUCTOR, ASSISTANT], "assistant"),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#TeachingAssistant"], "assistant"),
        (["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Administrator"], "learner"),
        (["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"], "learner"),
        ([], "learner"),
    ],
)
def test_the_courses_role_is_the_classs(
    client: Client,
    moodle: SimulatedPlatform,
    platform: Platform,
    link: ResourceLink,
    world: World,
    roles: list[str],
    role: str,
) -> None:
    launch(client, moodle, platform, roles=roles)
    assert role_of(world, "user-1") == role


def test_a_role_goes_up_and_never_down(
    moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    came_from(platform, world.owner, "owner-1")
    came_from(platform, world.learner, "lena")
    launch(Client(), moodle, platform, sub="lena", roles=[INSTRUCTOR])
    launch(Client(), moodle, platform, sub="owner-1")
    assert (role_of(world, "lena"), role_of(world, "owner-1")) == ("teacher", "owner")


def test_a_learner_before_any_teacher_is_told_to_wait(
    client: Client, moodle: SimulatedPlatform, platform: Platform, world: World
) -> None:
    answer: Any = launch(client, moodle, platform)
    assert answer.status_code == 403 and "Your teacher opens the link once" in answer.content.decode()
    assert not Course.objects.exists() and not Membership.objects.filter(owner__name="Noa Learner").exists()


def test_a_teacher_makes_a_class_of_the_course(
    client: Client, moodle: SimulatedPlatform, platform: Platform, world: World
) -> None:
    answer: Any = launch(client, moodle, platform, **TEACHING)
    page = answer.content.decode()
    assert "Which class is Serving models 2026?" in page and world.classroom.name + "</" not in page
    place = answer.redirect_chain[-1][0]
    answer = client.post(place, {"classroom": "new"}, follow=True)
    made = Course.objects.get().classroom
    assert (made.name, role_in(made, "teacher-1")) == ("Serving models 2026", "owner")
    assert "No assignments yet" in answer.content.decode()


def role_in(classroom: Classroom, sub: str) -> str:
    return Membership.objects.get(classroom=classroom, owner__platform_accounts__sub=sub).role


def test_an_owner_chooses_class_and_assignment(
    client: Client, moodle: SimulatedPlatform, platform: Platform, world: World
) -> None:
    came_from(platform, world.owner, "teacher-1")
    answer: Any = launch(client, moodle, platform, **TEACHING)
    place = answer.redirect_chain[-1][0]
    assert client.post(place, {"classroom": str(world.elsewhere.pk)}).status_code == 422, "not theirs"
    answer = client.post(place, {"classroom": str(world.classroom.pk)}, follow=True)
    assert "Which assignment does this link open?" in answer.content.decode()
    client.post(place, {"assignment": str(world.assignment.pk)})
    link = ResourceLink.objects.get()
    assert (link.assignment, link.takes_scores) == (world.assignment, True)
    assert (
        launch(Client(), moodle, platform)
        .redirect_chain[-1][0]
        .endswith(f"/assignments/{world.assignment.pk}/")
    )


def test_a_teacher_of_a_class_that_isnt_theirs_cant_open_it_to_a_course(
    client: Client, moodle: SimulatedPlatform, platform: Platform, world: World
) -> None:
    """A course's teachers become the class's, so only its owner opens it."""
    came_from(platform, world.teacher, "teacher-1")
    place = launch(client, moodle, platform, **TEACHING).redirect_chain[-1][0]
    assert client.post(place, {"classroom": str(world.classroom.pk)}).status_code == 422


def test_a_link_without_an_assignment_leads_learners_to_the_class(
    client: Client, moodle: SimulatedPlatform, platform: Platform, course: Course, world: World
) -> None:
    answer: Any = launch(client, moodle, platform)
    assert answer.redirect_chain[-1][0] == reverse("teaching:class_page", args=[world.classroom.pk])


def test_a_custom_parameter_names_the_assignment(
    client: Client, moodle: SimulatedPlatform, platform: Platform, course: Course, world: World
) -> None:
    launch(client, moodle, platform, custom={"assignment": str(world.assignment.pk)})
    assert ResourceLink.objects.get().assignment == world.assignment


@pytest.mark.parametrize("named", ["x", "00000000-0000-0000-0000-000000000000"])
def test_a_custom_parameter_that_names_nothing_is_harmless(
    client: Client,
    moodle: SimulatedPlatform,
    platform: Platform,
    course: Course,
    world: World,
    named: str,
) -> None:
    launch(client, moodle, platform, custom={"assignment": named})
    assert ResourceLink.objects.get().assignment is None


def test_who_was_taken_out_stays_out(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    came_from(platform, world.learner, "user-1")
    seat = world.seat(world.learner)
    Membership.objects.filter(pk=seat.pk).update(left=timezone.now(), removed=True)
    answer: Any = launch(client, moodle, platform)
    assert answer.status_code == 403 and "A teacher took you out" in answer.content.decode()
    Membership.objects.filter(pk=seat.pk).update(removed=False)
    launch(Client(), moodle, platform)
    assert world.seat(world.learner).left is None, "who left by themselves comes back"


def test_an_archived_class_lets_nobody_new_in(
    client: Client, moodle: SimulatedPlatform, platform: Platform, link: ResourceLink, world: World
) -> None:
    Classroom.objects.update(archived=timezone.now())
    answer: Any = launch(client, moodle, platform)
    assert answer.status_code == 403 and "archived" in answer.content.decode()


def deep_linking(moodle: SimulatedPlatform, **settings: Any) -> dict[str, Any]:
    found = {
        "deep_link_return_url": f"{moodle.url}/return",
        "accept_types": ["ltiResourceLink"],
        "accept_presentation_document_targets": ["window"],
        "data": "opaque",
        **settings,
    }
    return {
        "message_type": "LtiDeepLinkingRequest",
        "resource_link": None,
        f"{DEEP}deep_linking_settings": found,
        **TEACHING,
    }


def test_an_assignment_is_put_into_a_course(
    client: Client, moodle: SimulatedPlatform, platform: Platform, course: Course, world: World
) -> None:
    answer: Any = launch(client, moodle, platform, **deep_linking(moodle))
    assert "Put an assignment into the course" in answer.content.decode()
    answer = client.post(answer.redirect_chain[-1][0], {"assignment": str(world.assignment.pk)})
    assert f"form-action 'self' {moodle.url}" in answer["Content-Security-Policy"]
    token = answer.content.decode().split('name="JWT" value="')[1].split('"')[0]
    key: Any = RSAAlgorithm.from_jwk(json.dumps(key_set()["keys"][0]))
    claims = jwt.decode(token, key, algorithms=["RS256"], audience=moodle.url, issuer=CLIENT)
    (item,) = claims[f"{DEEP}content_items"]
    assert (
        item["custom"] == {"assignment": str(world.assignment.pk)} and item["lineItem"]["scoreMaximum"] == 4
    )
    assert claims[f"{DEEP}data"] == "opaque"
    assert claims["https://purl.imsglobal.org/spec/lti/claim/deployment_id"] == DEPLOYMENT


def test_the_answer_goes_to_the_platform_only(
    client: Client, moodle: SimulatedPlatform, platform: Platform, course: Course, world: World
) -> None:
    away = deep_linking(moodle, deep_link_return_url="https://evil.example.org/x")
    answer: Any = launch(client, moodle, platform, **away)
    answer = client.post(answer.redirect_chain[-1][0], {"assignment": str(world.assignment.pk)})
    assert answer.status_code == 403 and "JWT" not in answer.content.decode()


def test_somebody_else_signed_in_meanwhile_goes_nowhere(
    client: Client, moodle: SimulatedPlatform, platform: Platform, course: Course, world: World
) -> None:
    answer: Any = launch(client, moodle, platform, **TEACHING)
    place = answer.redirect_chain[-1][0]
    client.force_login(world.stranger)
    assert client.post(place, {"assignment": str(world.assignment.pk)}).status_code == 403
    assert client_of(world.stranger).get(place).status_code == 403
