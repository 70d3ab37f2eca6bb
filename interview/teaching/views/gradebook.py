"""The gradebook: matrix, course, files out and in, a learner's page."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

from interview.accounts.sessions import AccountRequest
from interview.teaching.errors import TeachingRefused
from interview.teaching.exports import csv_file, decimal_comma, xlsx_file
from interview.teaching.models import STAFF, AccessEntry, Assignment, Membership, Submission
from interview.teaching.rights import Seat, seat_of
from interview.teaching.roster_text import decoded
from interview.teaching.selectors import gradebook as selectors
from interview.teaching.selectors.gradebook import Cell, Matrix, Row
from interview.teaching.selectors.over_time import drawn, over_time
from interview.teaching.selectors.question_points import question_points as points_of_questions
from interview.teaching.selectors.tables import answers_table, course_table, matrix_table
from interview.teaching.services import upload
from interview.teaching.services.grading import access_note
from interview.teaching.services.work import attempts_settle
from interview.teaching.templatetags.teaching import points, state_class
from interview.teaching.views.assignments import assignment_or_404
from interview.teaching.views.pages import fills, reads

FILE_BYTES = 3_000_000
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def _book(request: AccountRequest, seat: Seat, assignment: Assignment) -> Matrix:
    asked = {name: request.GET.get(name, "")[:200] for name in ("q", "state", "sort")}
    attempts_settle(assignment=assignment)
    book = selectors.matrix(assignment)
    return selectors.narrowed(book, search=asked["q"], state=asked["state"], sort=asked["sort"])


@reads
def gradebook(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """Learners by questions, sorted and narrowed as asked, with the statistics of what is shown."""
    seat = seat_of(request.user, class_id, STAFF)
    assignment = assignment_or_404(seat, assignment_id)
    book = _book(request, seat, assignment)
    context = {
        "seat": seat,
        "tab": "grades",
        "assignment": assignment,
        "book": book,
        "body": _body(book, seat),
        "statistics": selectors.class_statistics(book),
        "items": selectors.item_statistics(book),
        "asked": {name: request.GET.get(name, "")[:200] for name in ("q", "state", "sort")},
        "states": [selectors.DONE, selectors.PENDING, selectors.WORKING, selectors.NOT_IN],
    }
    return render(request, "teaching/gradebook.html", context)


@reads
def question_points(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """Every question of an assignment with how its key points went and the misconceptions seen."""
    seat = seat_of(request.user, class_id, STAFF)
    assignment = assignment_or_404(seat, assignment_id)
    attempts_settle(assignment=assignment)
    lines = points_of_questions(selectors.matrix(assignment))
    context = {"seat": seat, "tab": "grades", "assignment": assignment, "lines": lines}
    return render(request, "teaching/question_points.html", context)


def _body(book: Matrix, seat: Seat) -> SafeString:
    """The table's rows; built here because a class of 300 has 9,000 cells."""
    return mark_safe("".join(_row_html(book, row, seat) for row in book.rows))


def _row_html(book: Matrix, row: Row, seat: Seat) -> str:
    base = f"/classes/{seat.classroom.pk}/"
    head = format_html(
        '<tr><th scope="row"><a class="plain-link" href="{}people/{}/work/">{}</a></th>',
        base,
        row.seat.pk,
        row.seat.shown_name,
    )
    cells = "".join(_cell_html(row.cells.get(item.pk), f"{base}answers/") for item in book.items)
    return f"{head}{cells}{_total_html(row)}</tr>"


def _cell_html(cell: Cell | None, base: str) -> str:
    if cell is None:
        return '<td class="is-none">–</td>'
    if cell.points is None:
        return f'<td class="is-none"><a href="{base}{cell.answer}/" title="not assessed">…</a></td>'
    mark = "*" if cell.overridden else "?" if cell.review else ""
    shown = f"{cell.points:.2f}".rstrip("0").rstrip(".")
    return f'<td class="{state_class(cell.share)}"><a href="{base}{cell.answer}/">{shown}{mark}</a></td>'


def _total_html(row: Row) -> str:
    if row.score is None:
        return f'<td class="is-none">{row.state}</td>'
    late = f'<span class="late">{row.score.credit} % for lateness</span>' if row.score.credit < 100 else ""
    newer = '<span class="late">newer attempt not counted</span>' if row.newer else ""
    shown = "pending" if row.points is None else points(row.points)
    return f"<td>{shown}{late}{newer}</td>"


def _file(request: AccountRequest, name: str, kind: str, header: list[str], rows: list[Any]) -> HttpResponse:
    """The table as CSV or XLSX."""
    stem = slugify(name) or "gradebook"
    if kind == "xlsx":
        response = HttpResponse(xlsx_file(name, header, rows), content_type=XLSX)
        response["Content-Disposition"] = f'attachment; filename="{stem}.xlsx"'
        return response
    asked = request.GET.get("decimal", "")
    comma = asked == "comma" or (
        asked != "point" and decimal_comma(request.headers.get("Accept-Language", ""))
    )
    response = HttpResponse(csv_file(header, rows, comma=comma), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{stem}.csv"'
    return response


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise Http404("No such class.") from error


@reads
def gradebook_file(
    request: AccountRequest, class_id: str, assignment_id: str, table: str, kind: str
) -> HttpResponse:
    """An assignment's scores, or its answers' points by stable id, as a file."""
    seat = seat_of(request.user, _uuid(class_id), STAFF)
    assignment = assignment_or_404(seat, _uuid(assignment_id))
    book = _book(request, seat, assignment)
    header, rows = matrix_table(book) if table == "scores" else answers_table(book)
    return _file(request, f"{assignment.title} {table}", kind, header, rows)


@reads
def course(request: AccountRequest, class_id: uuid.UUID) -> HttpResponse:
    """Learners by assignments."""
    seat = seat_of(request.user, class_id, STAFF)
    columns, rows = selectors.course(seat.classroom)
    context = {"seat": seat, "tab": "grades", "columns": columns, "rows": rows}
    return render(request, "teaching/course.html", context)


@reads
def course_file(request: AccountRequest, class_id: str, kind: str) -> HttpResponse:
    """The class's gradebook as a file."""
    seat = seat_of(request.user, _uuid(class_id), STAFF)
    header, rows = course_table(*selectors.course(seat.classroom))
    return _file(request, seat.classroom.name, kind, header, rows)


@fills
def gradebook_upload(request: AccountRequest, class_id: uuid.UUID, assignment_id: uuid.UUID) -> HttpResponse:
    """Points from a file: first what would change, then the change."""
    seat = seat_of(request.user, class_id, STAFF, writes=request.method == "POST")
    assignment = assignment_or_404(seat, assignment_id)
    context: dict[str, Any] = {"seat": seat, "tab": "grades", "assignment": assignment}
    if request.method != "POST":
        return render(request, "teaching/upload.html", context)
    text, error = _sent(request)
    changes = []
    if not error:
        try:
            changes = upload.changes_in(selectors.matrix(assignment), text)
            ready = bool(changes) and not any(change.fault for change in changes)
            if request.POST.get("apply") and ready:
                n_changed = upload.changes_apply(changes=changes, author=request.user)
                messages.success(request, f"{n_changed} answers have new points.")
                return redirect("teaching:gradebook", class_id=class_id, assignment_id=assignment_id)
        except TeachingRefused as refusal:
            error = str(refusal)
    faulty = any(change.fault for change in changes)
    context |= {"changes": changes, "text": text, "error": error, "faulty": faulty, "sent": True}
    return render(request, "teaching/upload.html", context, status=422 if error or faulty else 200)


def _sent(request: AccountRequest) -> tuple[str, str]:
    file = request.FILES.get("file")
    if file is None:
        text = request.POST.get("text", "")
        return text, "" if text.strip() else "Choose a file."
    if (file.size or 0) > FILE_BYTES:
        return "", "The file is larger than 3 MB."
    return decoded(file.read()), ""


@reads
def learner(request: AccountRequest, class_id: uuid.UUID, member_id: int) -> HttpResponse:
    """A learner over time: every assignment, every attempt, and who read their answers."""
    seat = seat_of(request.user, class_id, STAFF)
    member = Membership.objects.select_related("owner").filter(classroom=seat.classroom, pk=member_id).first()
    if member is None:
        raise Http404("No such member.")
    access_note(classroom=seat.classroom, reader=request.user, learner=member.owner, what="overview")
    moments = over_time(seat.classroom, member)
    attempts = Submission.objects.filter(
        assignment__classroom=seat.classroom, owner=member.owner, submitted__isnull=False
    ).select_related("assignment")
    context = {
        "seat": seat,
        "tab": "people",
        "member": member,
        "moments": moments,
        "picture": mark_safe(drawn(moments, member.shown_name)),
        "attempts": attempts.order_by("submitted"),
        "readings": AccessEntry.objects.filter(classroom=seat.classroom, owner=member.owner).select_related(
            "reader"
        )[:50],
    }
    return render(request, "teaching/learner.html", context)
