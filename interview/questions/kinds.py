"""The run kind `samples`: an author's sample answers are held against a rubric that may not be saved yet."""

from __future__ import annotations

from interview.runs.kinds import JSON, Job, Kind, register

KIND = "samples"


def grade_samples(job: Job) -> JSON:
    """Assess each sample in turn, streaming how far it is; stops between two when it is cancelled."""
    from engine.rubric import Rubric

    rubric = Rubric.from_dict(job.input["rubric"])
    verdicts = []
    for sample in job.input["samples"]:
        if job.halted:
            break
        verdict = job.models.grader.grade(
            question=job.input["question"], answer=sample["text"], rubric=rubric
        )
        verdicts.append(verdict.to_dict())
    job.trace["rubric_hash"] = rubric.hash
    job.trace["verdicts"] = verdicts
    return {"verdicts": verdicts}


register(Kind(name=KIND, title="Try sample answers", execute=grade_samples))
