"""The run kind `drift`: a pin asked once more. Replays with pinned seeds show change, trials with new seeds the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interview import __version__
from interview.playground.many import ask_many, tokens_of
from interview.runs.kinds import JSON, Job, Kind, register

if TYPE_CHECKING:
    from engine import Request, Result

# The replays: greedy, and two seeds that stay the same for ever.
PINNED_SEEDS = (101, 202)
REPLAYS = 1 + len(PINNED_SEEDS)


def drift(job: Job) -> JSON:
    """The replays of every prompt one by one, for company in a batch changes rounding; then all trials in one batch."""
    body, engine = job.input, job.models.engine
    job.trace["model"] = engine.card.to_dict()
    requests = [asked(body, prompt) for prompt in body["prompts"]]
    alone = ask_many(job, [one for each in requests for one in each[:REPLAYS]], together=1)
    trials = ask_many(job, [one for each in requests for one in each[REPLAYS:]])
    results = [*alone, *trials]
    prompts = [
        _noted(
            prompt,
            alone[place * REPLAYS : (place + 1) * REPLAYS],
            trials[place * body["trials"] : (place + 1) * body["trials"]],
        )
        for place, prompt in enumerate(body["prompts"])
    ]
    card = engine.card.to_dict()
    machine = {name: card[name] for name in ("name", "revision", "sha256", "weight_format")}
    machine |= {
        "app": __version__,
        "device": str(engine.decoder.device),
        "threads": engine.stats()["threads"],
    }
    job.trace.update(prompts=prompts, usage=tokens_of(results))
    return {"prompts": prompts, "machine": machine, "usage": tokens_of(results)}


def _noted(prompt: str, replays: list[Result], trials: list[Result]) -> JSON:
    """A prompt's answers, and how the replays were computed: requests in one pass, tokens from the prefix cache."""
    return {
        "prompt": prompt,
        "replays": [list(result.token_ids) for result in replays],
        "replay_texts": [result.text for result in replays],
        "computed": [
            [result.stats.get("batch_size_max"), result.usage["cached_tokens"]] for result in replays
        ],
        "answers": [result.text for result in trials],
    }


def asked(body: JSON, prompt: str) -> list[Request]:
    """The requests of one prompt."""
    from engine import Message, Request, Sampling

    sampling, first = body["sampling"], body["seed"]
    greedy = Sampling(temperature=0, max_tokens=sampling["max_tokens"])
    seeds = [*PINNED_SEEDS, *range(first, first + body["trials"])]
    settings = [greedy, *(Sampling(**sampling, seed=seed) for seed in seeds)]
    # Drafts would give the replays' passes other widths at other times.
    drafts = [0] * REPLAYS + [None] * body["trials"]
    return [
        Request(messages=(Message("user", prompt),), sampling=one, speculate=longest)
        for one, longest in zip(settings, drafts, strict=True)
    ]


register(Kind(name="drift", title="Drift", execute=drift, looks_inside=True))
