"""The run kind `grade`: an attempt is held against its rubric by the worker's grader."""

from __future__ import annotations

import time

from interview.practice import services
from interview.runs.kinds import JSON, Job, Kind, register


def grade(job: Job) -> JSON:
    """Assess one attempt. The same text, rubric and grader version give the same verdict."""
    from engine.rubric import Rubric

    started = time.perf_counter()
    verdict = job.models.grader.grade(
        question=job.input["question"],
        answer=job.input["answer"],
        rubric=Rubric.from_dict(job.input["rubric"]),
        reference=job.input.get("reference") or None,
    )
    job.trace["timings"] = {"grade_ms": round((time.perf_counter() - started) * 1000, 2)}
    job.trace["rubric_hash"] = job.input["rubric_hash"]
    found: JSON = verdict.to_dict()
    job.trace["verdict"] = found
    return found


register(
    Kind(
        name="grade",
        title="Grade",
        execute=grade,
        ended=services.attempt_graded,
        counts_against_quota=False,
        erasable=False,
    )
)
