"""The run kind `drift`: a pin asked once more. Replays with pinned seeds show change, trials with new seeds the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interview import __version__
from interview.playground.many import ask_many, tokens_of
from interview.runs.kinds import JSON, Job, Kind, register

if TYPE_CHECKING:
    from engine import Request

# The replays: greedy, and two seeds that stay the same for ever.
PINNED_SEEDS = (101, 202)


def drift(job: Job) -> JSON:
    """Every prompt: the replays first, then the trials, all in one batch."""
    body, engine = job.input, job.models.engine
    job.trace["model"] = engine.card.to_dict()
    requests = [request for prompt in body["prompts"] for request in asked(body, prompt)]
    results = ask_many(job, requests)
    size = 1 + len(PINNED_SEEDS) + body["trials"]
    prompts = []
    for place, prompt in enumerate(body["prompts"]):
        group = results[place * size : (place + 1) * size]
        replays, trials = group[: size - body["trials"]], group[size - body["trials"] :]
        prompts.append(
            {
                "prompt": prompt,
                "replays": [list(result.token_ids) for result in replays],
                "replay_texts": [result.text for result in replays],
                "answers": [result.text for result in trials],
            }
        )
    card = engine.card.to_dict()
    machine = {name: card[name] for name in ("name", "revision", "sha256", "weight_format")}
    machine |= {
        "app": __version__,
        "device": str(engine.decoder.device),
        "threads": engine.stats()["threads"],
    }
    job.trace.update(prompts=prompts, machine=machine, usage=tokens_of(results))
    return {"prompts": prompts, "machine": machine, "usage": tokens_of(results)}


def asked(body: JSON, prompt: str) -> list[Request]:
    """The requests of one prompt."""
    from engine import Message, Request, Sampling

    sampling, first = body["sampling"], body["seed"]
    greedy = Sampling(temperature=0, max_tokens=sampling["max_tokens"])
    seeds = [*PINNED_SEEDS, *range(first, first + body["trials"])]
    settings = [greedy, *(Sampling(**sampling, seed=seed) for seed in seeds)]
    return [Request(messages=(Message("user", prompt),), sampling=one) for one in settings]


register(Kind(name="drift", title="Drift", execute=drift))
