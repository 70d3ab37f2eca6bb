"""The run kind `assess`: a submission's answers are held against their pinned rubrics by the worker's grader.

The run belongs to the learner, and neither its input nor its output says what the grader found: verdicts go to the
answers' rows, and learners see them when the assignment's policy allows.
"""

from __future__ import annotations

import time

from interview.plain_text import is_blank
from interview.runs.kinds import JSON, Interrupted, Job, Kind, register
from interview.teaching.models import Answer, Regrade
from interview.teaching.services import assess as services
from interview.teaching.services.regrade import KIND as REGRADE
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


def regrade(job: Job) -> JSON:
    """Grade all answers to a question on trial; the output is what would be kept."""
    from engine.rubric import Rubric

    trial = Regrade.objects.select_related("rubric", "item").get(pk=job.input["regrade"])
    rubric = Rubric.from_dict(trial.rubric.body)
    verdicts: JSON = {}
    for answer in Answer.objects.filter(item=trial.item, submission__submitted__isnull=False):
        if job.stopping.is_set():
            raise Interrupted
        if job.cancelled.is_set() or is_blank(answer.text):
            continue
        verdict = job.models.grader.grade(question=trial.item.prompt, answer=answer.text, rubric=rubric)
        verdicts[str(answer.pk)] = verdict.to_dict()
    job.trace["answers"], job.trace["rubric_hash"] = len(verdicts), trial.rubric.hash
    return {"verdicts": verdicts}


register(
    Kind(
        name=KIND,
        title="Assess a submission",
        execute=assess,
        ended=services.submission_ended,
        counts_against_quota=False,
    )
)
register(Kind(name=REGRADE, title="Grade a question again", execute=regrade, counts_against_quota=False))
