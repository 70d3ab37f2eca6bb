"""The run kind `assess`: a submission's answers are held against their pinned rubrics by the worker's grader.

The run belongs to the learner, and neither its input nor its output says what the grader found: verdicts go to the
answers' rows, and learners see them when the assignment's policy allows.
"""

from __future__ import annotations

import time

from interview.runs.kinds import JSON, Interrupted, Job, Kind, register
from interview.teaching.models import Answer
from interview.teaching.services import assess as services
from interview.teaching.services.work import KIND


def assess(job: Job) -> JSON:
    """Assess what has no verdict yet; an attempt that is repeated goes on where the lost one stopped."""
    from engine.rubric import Rubric

    started = time.perf_counter()
    waiting = Answer.objects.filter(
        submission_id=job.input["submission"], verdict__isnull=True, share__isnull=True
    ).select_related("item__rubric")
    n_assessed = 0
    for answer in waiting:
        if job.stopping.is_set():
            raise Interrupted
        if job.cancelled.is_set():
            break
        rubric = Rubric.from_dict(answer.item.rubric.body)
        verdict = job.models.grader.grade(question=answer.item.prompt, answer=answer.text, rubric=rubric)
        services.answer_assessed(answer=answer, verdict=verdict.to_dict())
        n_assessed += 1
    job.trace["timings"] = {"assess_ms": round((time.perf_counter() - started) * 1000, 2)}
    job.trace["answers"] = n_assessed
    return {"assessed": n_assessed}


register(
    Kind(
        name=KIND,
        title="Assess a submission",
        execute=assess,
        ended=services.submission_ended,
        counts_against_quota=False,
    )
)
