"""A class's courses on learning platforms: their links, and the scores that went back or didn't."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from interview.accounts.sessions import AccountRequest
from interview.lti import scores
from interview.lti.models import Course, ResourceLink
from interview.lti.selectors import link_lines
from interview.lti.views.guards import while_on
from interview.teaching.models import EDITORS, STAFF
from interview.teaching.rights import OWNER_ONLY, seat_of
from interview.teaching.views.pages import reads, writes


@while_on
@reads
def course(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """The courses of a class with every link and what became of its scores."""
    seat = seat_of(request.user, class_id, STAFF)
    context = {
        "seat": seat,
        "tab": "settings",
        "courses": list(Course.objects.filter(classroom=seat.classroom).select_related("platform")),
        "lines": link_lines(seat.classroom),
    }
    return render(request, "lti/course.html", context)


def _link(class_id: uuid.UUID, link_id: int) -> ResourceLink:
    found = ResourceLink.objects.filter(pk=link_id, course__classroom_id=class_id).first()
    if found is None:
        raise Http404("No such link.")
    return found


@while_on
@writes
def scores_again(request: AccountRequest, class_id: uuid.UUID, link_id: int) -> HttpResponse:
    """Try the scores that haven't arrived again at once."""
    seat_of(request.user, class_id, EDITORS, writes=True)
    n_due = scores.scores_again(link=_link(class_id, link_id))
    messages.success(request, f"{n_due} score{'' if n_due == 1 else 's'} will be sent again within a minute.")
    return redirect("lti:course", class_id=class_id)


@while_on
@writes
def link_forget(request: AccountRequest, class_id: uuid.UUID, link_id: int) -> HttpResponse:
    """Forget which assignment a link opens; a teacher's next click on it asks again."""
    seat_of(request.user, class_id, EDITORS, writes=True)
    _link(class_id, link_id).delete()
    messages.success(request, "The link opens nothing now. Click it in the course to say what it opens.")
    return redirect("lti:course", class_id=class_id)


@while_on
@writes
def course_unlink(request: AccountRequest, class_id: uuid.UUID, course_id: int) -> HttpResponse:
    """Part a course from the class; who came by it stays."""
    seat = seat_of(request.user, class_id, OWNER_ONLY)
    Course.objects.filter(classroom=seat.classroom, pk=course_id).delete()
    messages.success(request, "The course is parted from this class. Everybody who came by it is still in.")
    return redirect("lti:course", class_id=class_id)
