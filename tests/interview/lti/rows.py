"""Rows about learning platforms that belong to somebody."""

from __future__ import annotations

import uuid

from django.db.models import Model
from django.utils import timezone

from interview.accounts.models import User
from interview.lti.models import Course, Launch, Platform, PlatformAccount, ResourceLink, ScoreReturn
from interview.questions.models import Question
from interview.teaching.models import Classroom
from tests.interview.accounts.mark import MARK, Maker


def platform(owner: User, question: Question) -> Platform:
    return Platform.objects.create(owner=owner, name=MARK, issuer="https://moodle.example.org")


def platform_account(owner: User, question: Question) -> Model:
    made = PlatformAccount(platform=platform(owner, question), owner=owner, sub=MARK)
    made.save()
    return made


def launch(owner: User, question: Question) -> Model:
    unique = uuid.uuid4().hex
    return Launch.objects.create(platform=platform(owner, question), state=unique, nonce=unique)


def course(owner: User, question: Question) -> Course:
    classroom = Classroom.objects.create(name="A class", time_zone="UTC")
    return Course.objects.create(
        platform=platform(owner, question), classroom=classroom, context="course-9", title=MARK
    )


def resource_link(owner: User, question: Question) -> ResourceLink:
    return ResourceLink.objects.create(course=course(owner, question), resource="link-3", title=MARK)


def score_return(owner: User, question: Question) -> Model:
    return ScoreReturn.objects.create(
        link=resource_link(owner, question),
        owner=owner,
        points=1,
        of=2,
        submitted=timezone.now(),
        error=MARK,
    )


OWNED: dict[str, Maker] = {
    "lti.platform.owner": platform,
    "lti.platformaccount.owner": platform_account,
    "lti.scorereturn.owner": score_return,
}
DEPENDENT: dict[str, Maker] = {
    "lti.course": course,
    "lti.launch": launch,
    "lti.resourcelink": resource_link,
}
