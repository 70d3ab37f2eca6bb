"""Sampling: the engine's own sampler drawn ten thousand times on a real next-token distribution."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from interview.calculators.formulas.sampling import SamplingInputs
from interview.calculators.formulas.sampling_steps import Settings, stages
from interview.calculators.formulas.token_text import shown
from interview.calculators.measuring.local import checked, engine_of
from interview.calculators.measuring.proof import CLOSE, SEEN, Proof, Row
from interview.runs.kinds import JSON, Job, RunFailed

if TYPE_CHECKING:
    from engine import Engine
    from engine.types import Alternative

MOST_KEPT, MOST_DRAWS, SHOWN = 64, 20_000, 12
PROMPT = "The drink I like best in the morning is"


def plan(inputs: SamplingInputs) -> JSON:
    """The settings on the form; without a top-k of its own the 64 likeliest tokens are kept."""
    return {
        "temperature": inputs.temperature,
        "top_k": min(inputs.top_k or MOST_KEPT, MOST_KEPT),
        "top_p": inputs.top_p or 1e-9,
        "min_p": inputs.min_p,
        "order": inputs.order,
        "draws": min(inputs.draws, MOST_DRAWS),
        "seed": inputs.seed,
    }


def measure(job: Job, plan: JSON) -> Proof:
    """One forward pass for the distribution, then draws; the formula predicts each token's share."""
    engine = engine_of(job)
    prompt = job.input.get("prompt") or PROMPT
    seen = _distribution(job, prompt)
    settings = Settings(plan["temperature"], plan["top_k"], plan["top_p"], plan["min_p"], order=plan["order"])
    says = stages([math.log(a.probability) for a in seen], [0] * len(seen), settings)[-1].probabilities
    counts = _drawn(engine, seen, plan)
    draws = plan["draws"]
    order = sorted(range(len(seen)), key=lambda i: -says[i])[:SHOWN]
    rows = [
        Row(
            f"“{shown(seen[i].text.encode())}”",
            "of draws",
            says[i],
            counts[i] / draws,
            CLOSE,
            _slack(says[i], draws),
        )
        for i in order
    ]
    if sum(p > 0 for p in says) > SHOWN:
        rest = [i for i in range(len(seen)) if i not in order]
        rows.append(
            Row(
                "All others",
                "of draws",
                math.fsum(says[i] for i in rest),
                sum(counts[i] for i in rest) / draws,
                CLOSE,
            )
        )
    return Proof(
        setting=f"{draws} draws after “{prompt[:60]}” on {engine.card.name}",
        rows=(*rows, Row("Chi-square", "", _freedom(says), _chi_square(says, counts), SEEN, _expected(says))),
        notes=(
            "The probabilities come from one pass of the model; the draws are made by the sampler that generates text. "
            f"Only the {plan['top_k']} likeliest tokens can be drawn.",
        ),
    )


def _distribution(job: Job, prompt: str) -> list[Alternative]:
    """The likeliest next tokens as the model gives them, before any setting."""
    from engine import EngineError, Request, Sampling, TokenEvent

    try:
        handle = engine_of(job).submit(
            Request(prompt=prompt, sampling=Sampling(max_tokens=1, logprobs=MOST_KEPT))
        )
    except EngineError as error:
        raise RunFailed(error.message) from error
    events = [e for e in handle if isinstance(e, TokenEvent)]
    checked(job, handle.result())
    return [a for a in events[0].alternatives if a.probability > 0]


def _drawn(engine: Engine, seen: list[Alternative], plan: JSON) -> list[int]:
    """How often the engine's sampler takes each token."""
    import torch

    from engine import Sampling
    from engine.sampling import choose

    logits = torch.full((engine.card.vocab_size,), -math.inf)
    logits[[a.token_id for a in seen]] = torch.tensor([math.log(a.probability) for a in seen])
    names = ("temperature", "top_k", "top_p", "min_p", "order")
    sampling = Sampling(**{name: plan[name] for name in names})
    dice = random.Random(plan["seed"])
    place = {a.token_id: i for i, a in enumerate(seen)}
    counts = [0] * len(seen)
    with torch.inference_mode():
        for _ in range(plan["draws"]):
            counts[place[choose(logits, sampling, dice)]] += 1
    return counts


def _slack(p: float, draws: int) -> str:
    """How far chance alone carries a share, 19 times in 20."""
    return f"chance alone: ± {1.96 * math.sqrt(p * (1 - p) / draws):.4f}"


def _cells(says: tuple[float, ...]) -> list[int]:
    return [i for i, p in enumerate(says) if p > 0]


def _freedom(says: tuple[float, ...]) -> float:
    return float(max(0, len(_cells(says)) - 1))


def _chi_square(says: tuple[float, ...], counts: list[int]) -> float:
    draws = sum(counts)
    return math.fsum((counts[i] - draws * says[i]) ** 2 / (draws * says[i]) for i in _cells(says))


def _expected(says: tuple[float, ...]) -> str:
    freedom = _freedom(says)
    return f"expected {freedom:.0f} ± {math.sqrt(2 * freedom):.1f} when draws follow the formula"
