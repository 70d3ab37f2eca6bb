"""The run kind `assess`: a submission's answers are held against their pinned rubrics by the worker's grader.

The run belongs to the learner, and neither its input nor its output says what the grader found: verdicts go to the
answers' rows, and learners see them when the assignment's policy allows.
"""

from __future__ import annotations

import copy
import os
import threading
import time
from collections import OrderedDict

from interview.plain_text import is_blank
from interview.questions.models import RubricVersion
from interview.runs.kinds import JSON, Interrupted, Job, Kind, register
from interview.teaching.models import Answer, Regrade
from interview.teaching.services import assess as services
from interview.teaching.services.regrade import KIND as REGRADE
from interview.teaching.services.work import KIND

TOGETHER = 10  # verdicts kept in one write; as many are lost when a worker dies


def batched(rows: list[Answer], size: int) -> list[list[Answer]]:
    """The rows in lists of this size."""
    return [rows[first : first + size] for first in range(0, len(rows), size)]


# An answer is graded on one core, so as many submissions at once as there are cores; beyond four they'd wait for Python.
AT_ONCE = min(4, os.cpu_count() or 1)
_lock = threading.Lock()
# Verdicts on the last texts: a class's copied answers and "I don't know"s are held against a rubric once.
_recent: OrderedDict[tuple[str, str, str], JSON] = OrderedDict()
RECENT = 2_000


def graded(job: Job, *, question: str, answer: str, rubric: RubricVersion) -> JSON:
    """The grader's verdict as plain data; the same text is graded once."""
    from engine.rubric import Rubric

    key = (rubric.hash, question, answer)
    with _lock:
        known = _recent.get(key)
    if known is None:
        verdict = job.models.grader.grade(
            question=question, answer=answer, rubric=Rubric.from_dict(rubric.body)
        )
        known = verdict.to_dict()
    with _lock:
        _recent[key] = known
        _recent.move_to_end(key)
        while len(_recent) > RECENT:
            _recent.popitem(last=False)
    return copy.deepcopy(known)


def assess(job: Job) -> JSON:
    """Assess what has no verdict yet; an attempt that is repeated goes on where the lost one stopped."""
    started = time.perf_counter()
    waiting = services.answers_waiting(job.input["submission"])
    n_assessed = 0
    for together in batched(list(waiting), TOGETHER):
        found = []
        for answer in together:
            if job.stopping.is_set() or job.cancelled.is_set():
                break
            item = answer.item
            found.append((answer, graded(job, question=item.prompt, answer=answer.text, rubric=item.rubric)))
        services.answers_assessed(found)
        n_assessed += len(found)
        if job.stopping.is_set():
            raise Interrupted
    job.trace["timings"] = {"assess_ms": round((time.perf_counter() - started) * 1000, 2)}
    job.trace["answers"] = n_assessed
    return {"assessed": n_assessed}


def regrade(job: Job) -> JSON:
    """Grade all answers to a question on trial; the output is what would be kept."""
    trial = Regrade.objects.select_related("rubric", "item").get(pk=job.input["regrade"])
    verdicts: JSON = {}
    for answer in Answer.objects.filter(item=trial.item, submission__submitted__isnull=False):
        if job.stopping.is_set():
            raise Interrupted
        if job.cancelled.is_set() or is_blank(answer.text):
            continue
        verdicts[str(answer.pk)] = graded(
            job, question=trial.item.prompt, answer=answer.text, rubric=trial.rubric
        )
    job.trace["answers"], job.trace["rubric_hash"] = len(verdicts), trial.rubric.hash
    return {"verdicts": verdicts}


register(
    Kind(
        name=KIND,
        title="Assess a submission",
        execute=assess,
        ended=services.submission_ended,
        counts_against_quota=False,
        at_once=AT_ONCE,  # a class handing in at the deadline leaves the other threads to everybody else
    )
)
register(
    Kind(name=REGRADE, title="Grade a question again", execute=regrade, counts_against_quota=False, at_once=1)
)
