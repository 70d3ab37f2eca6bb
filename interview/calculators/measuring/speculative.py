"""Speculative decoding: the engine drafts from its own prompt; acceptance at one length predicts another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interview.calculators.formulas.speculative import SpeculativeInputs, expected_tokens
from interview.calculators.measuring.local import engine_of, generate
from interview.calculators.measuring.proof import CLOSE, SEEN, Proof, Row
from interview.runs.kinds import JSON, Job, RunFailed

if TYPE_CHECKING:
    from engine import Result

ANSWER, LONGEST = 96, 16
PROMPT = (
    "Copy this list twice, word for word:\n- latency is what one user waits\n- throughput is what the machine does\n"
    "- the cache grows with every token\n- a batch shares the weights\n"
)


def plan(inputs: SpeculativeInputs) -> JSON:
    """The draft length on the form, at most what the engine drafts."""
    return {"draft": max(1, min(inputs.draft, LONGEST))}


def measure(job: Job, plan: JSON) -> Proof:
    """Three greedy runs of one prompt: no drafts, drafts of one token (which gives the rate), drafts as asked."""
    engine = engine_of(job)
    draft = plan["draft"]
    plain, one, many = (_run(job, length) for length in (0, 1, draft))
    if not one.stats["speculation"]["proposed"]:
        raise RunFailed(
            "Nothing was drafted: the answer repeats no three words of the prompt. Give a prompt to copy from."
        )
    rate = one.stats["speculation"]["accepted"] / one.stats["speculation"]["proposed"]
    proposed, accepted = (many.stats["speculation"][n] for n in ("proposed", "accepted"))
    rounds = proposed / draft
    passes = len(many.token_ids) - accepted
    gained = len(many.token_ids) / passes
    return Proof(
        setting=f"drafts of {draft} from the prompt, {len(many.token_ids)} tokens, greedy, on {engine.card.name}",
        rows=(
            Row("Acceptance rate, from drafts of one token", "a token", None, rate, SEEN),
            Row(
                "Tokens a drafted pass gives",
                "tokens",
                expected_tokens(rate, draft),
                1 + accepted / rounds,
                CLOSE,
            ),
            Row("Tokens a pass over the whole answer", "tokens", None, gained, SEEN),
            Row(
                "Speed-up if checking a draft cost nothing",
                "times",
                gained,
                _speed(many) / _speed(plain),
                CLOSE,
            ),
            Row("Tokens that differ from the run without drafts", "tokens", 0, _differ(plain, many)),
        ),
        notes=(
            "The formula takes every acceptance as independent. Copied text comes in runs, so long drafts do better than it says "
            "while the copy lasts and worse where it ends.",
            "Drafts are looked up in the prompt, so a draft token costs almost nothing; checking it does.",
        ),
    )


def _run(job: Job, draft: int) -> Result:
    from engine import Message, Request, Sampling

    prompt = job.input.get("prompt") or PROMPT
    request = Request(
        messages=(Message("user", prompt),), sampling=Sampling(max_tokens=ANSWER), speculate=draft
    )
    return generate(job, request)


def _speed(result: Result) -> float:
    return float(result.timings["tokens_per_s"] or 0) or 1.0


def _differ(plain: Result, many: Result) -> int:
    return sum(a != b for a, b in zip(plain.token_ids, many.token_ids, strict=False))
