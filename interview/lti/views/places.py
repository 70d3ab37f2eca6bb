"""Where a launch goes: its course's class, its link's assignment; a teacher says which, once."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from interview.accounts.models import User
from interview.lti import arriving
from interview.lti.claims import Launched
from interview.lti.deep_linking import response_token
from interview.lti.errors import LaunchRefused
from interview.lti.forms import AssignmentChoiceForm, ClassChoiceForm
from interview.lti.models import Course, Launch, ResourceLink
from interview.lti.views.guards import launch_refused, while_on
from interview.lti.views.launches import arriving_of, page_with_form, place_context
from interview.teaching.models import EDITORS, Assignment, Membership


@while_on
@never_cache
@page_with_form
def place(request: HttpRequest, state: str) -> HttpResponseBase:
    """Go on to the assignment, asking a teacher on the way for what isn't known yet."""
    try:
        launch, who = arriving_of(request, state)
        assert isinstance(request.user, User)
        course = arriving.course_of(launch.platform, who)
        if course is None:
            return _class_choice(request, request.user, launch, who)
        seat = arriving.seat_take(course=course, user=request.user, role=who.role)
        if who.deep_linking is not None:
            return _deep_linking(request, launch, who, course, seat)
        return _at_link(request, launch, who, course, seat)
    except LaunchRefused as error:
        return launch_refused(request, error)


def _class_choice(request: HttpRequest, user: User, launch: Launch, who: Launched) -> HttpResponse:
    if who.role != "teacher":
        raise LaunchRefused(
            "This course isn’t a class here yet. Your teacher opens the link once, and then it works for everybody."
        )
    title = who.context_title or "Course"
    form = ClassChoiceForm(_posted(request, "classroom"), classes=arriving.classes_owned(user), title=title)
    if form.is_valid():
        arriving.course_link(platform=launch.platform, who=who, user=user, classroom=form.chosen)
        return redirect("lti:place", state=launch.state)
    return render(
        request, "lti/choose_class.html", place_context(launch, who, form=form), status=_status(form)
    )


def _at_link(
    request: HttpRequest, launch: Launch, who: Launched, course: Course, seat: Membership
) -> HttpResponse:
    link = arriving.link_take(course=course, who=who)
    if link.assignment_id is None and seat.role in EDITORS:
        assignments = list(Assignment.objects.filter(classroom=course.classroom))
        form = AssignmentChoiceForm(_posted(request, "assignment"), assignments=assignments)
        if not form.is_valid():
            context = place_context(launch, who, form=form, course=course, assignments=assignments)
            return render(request, "lti/choose_assignment.html", context, status=_status(form))
        arriving.link_assign(link=link, assignment=form.chosen)
        link = ResourceLink.objects.get(pk=link.pk)
    arriving.launch_arrived(launch=launch)
    if link.assignment_id is None:
        return redirect("teaching:class_page", class_id=course.classroom_id)
    return redirect("teaching:assignment", class_id=course.classroom_id, assignment_id=link.assignment_id)


def _deep_linking(
    request: HttpRequest, launch: Launch, who: Launched, course: Course, seat: Membership
) -> HttpResponse:
    if seat.role not in EDITORS:
        raise LaunchRefused("Only teachers of the class put its assignments into a course.")
    assignments = list(Assignment.objects.filter(classroom=course.classroom))
    form = AssignmentChoiceForm(_posted(request, "assignment"), assignments=assignments)
    context = place_context(launch, who, form=form, course=course, assignments=assignments)
    if not form.is_valid():
        return render(request, "lti/choose_assignment.html", context, status=_status(form))
    back, token = response_token(launch.platform, who, form.chosen)
    arriving.launch_arrived(launch=launch)
    answer = render(
        request, "lti/deep_link.html", {**context, "back": back, "token": token, "chosen": form.chosen}
    )
    parts = urlsplit(back)
    answer._csp_update = {"form-action": [f"{parts.scheme}://{parts.netloc}"]}  # type: ignore[attr-defined]
    return answer


def _posted(request: HttpRequest, field: str) -> Any:
    return request.POST if request.method == "POST" and field in request.POST else None


def _status(form: Any) -> int:
    return 422 if form.errors else 200
