"""Tokens: what the local model is really given for a text or chat, against the count made without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interview.calculators.formulas.token_stream import Wanted, messages, stream
from interview.calculators.formulas.tokens import TokensInputs
from interview.calculators.formulas.vocabularies import LOCAL_NAME
from interview.calculators.measuring.local import engine_of, generate
from interview.calculators.measuring.proof import Proof, Row
from interview.runs.kinds import JSON, Job, RunFailed

if TYPE_CHECKING:
    from engine import Request


def plan(inputs: TokensInputs) -> JSON:
    """The text or chat as it stands, read by the local model's own tokenizer."""
    return {"text": inputs.text, "chat": inputs.chat, "control": inputs.special == "control"}


def measure(job: Job, plan: JSON) -> Proof:
    """Send the text to the model for one token and compare the ids it read, one by one."""
    engine = engine_of(job)
    if not plan["text"]:
        raise RunFailed("There is no text to send: write something first.")
    # The engine always asks for an answer, so its prompt ends with the answer's start.
    wanted = Wanted(plan["text"], plan["chat"], plan["control"], generation_prompt=plan["chat"])
    says = list(stream(LOCAL_NAME, wanted).ids)
    request = _request(plan)
    result = generate(job, request)
    read = _read(job, request)
    differ = sum(a != b for a, b in zip(says, read, strict=False)) + abs(len(says) - len(read))
    return Proof(
        setting=f"{'a chat' if plan['chat'] else 'a text'} of {len(plan['text'])} characters on {engine.card.name}",
        rows=(
            Row("Prompt tokens", "tokens", len(says), result.usage["prompt_tokens"]),
            Row("Ids that differ", "ids", 0, differ),
        ),
        notes=(
            "The prediction reads the tokenizer and the chat template that set-up wrote down; the measurement is what the engine "
            "fed to the model.",
        ),
    )


def _request(plan: JSON) -> Request:
    from engine import Message, Request, Sampling

    sampling = Sampling(max_tokens=1)
    if not plan["chat"]:
        return Request(prompt=plan["text"], sampling=sampling, allow_special=plan["control"])
    turns = tuple(Message(role, content) for role, content in messages(plan["text"]))
    return Request(messages=turns, sampling=sampling, allow_special=plan["control"])


def _read(job: Job, request: Request) -> list[int]:
    from engine.chat import render

    return render(engine_of(job).tokenizer, request)[1]
