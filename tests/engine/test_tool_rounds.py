"""The model calls declared functions until it answers or the rounds are used up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from engine.errors import InvalidRequest
from engine.llm import Engine
from engine.tools import MAX_ROUNDS, run_tools
from engine.types import Message, Request, Sampling
from tests.engine.tiny import oracle, tiny_engine

TOOL = {"name": "clock", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}
CALL = '{"name":"clock","arguments":{}}'


@pytest.fixture(scope="module")
def tiny() -> Iterator[Engine]:
    with tiny_engine(oracle(seed=5, max_position_embeddings=4096)) as engine:
        yield engine


def asked(letter: str, **more: Any) -> Request:
    """A request whose next step begins with the letter: "n" of a call's name, "a" of an answer."""
    bias = {ord(letter): 100.0, ord('"'): 110.0}
    sampling = Sampling(max_tokens=64, logit_bias=bias)
    return Request(messages=(Message("user", "When?"),), tools=(TOOL,), sampling=sampling, id="r", **more)


@pytest.mark.parametrize("cap", [1, 2, MAX_ROUNDS])
def test_calls_end_at_the_cap(tiny: Engine, cap: int) -> None:
    called: list[int] = []

    def clock() -> int:
        called.append(1)
        return 12

    result, added = run_tools(tiny, asked("n"), {"clock": clock}, max_rounds=cap)
    assert len(called) == cap
    assert added == [Message("assistant", CALL), Message("tool", '{"result": 12}')] * cap
    assert result.parsed == json.loads(CALL)


def test_an_answer_ends_the_rounds(tiny: Engine) -> None:
    result, added = run_tools(tiny, asked("a"), {"clock": lambda: 1 / 0})
    assert list(result.parsed) == ["answer"]
    assert added == [Message("assistant", result.text)]


def test_a_tool_that_raises_is_told_to_the_model(tiny: Engine) -> None:
    _, added = run_tools(tiny, asked("n"), {"clock": lambda: 1 / 0}, max_rounds=1)
    assert json.loads(added[-1].content) == {"error": "ZeroDivisionError: division by zero"}


@pytest.mark.parametrize("functions", [{}, {"clock": lambda extra: extra}])
def test_a_function_that_is_not_there_or_takes_other_arguments_is_an_error_too(
    tiny: Engine, functions: dict[str, Any]
) -> None:
    _, added = run_tools(tiny, asked("n"), functions, max_rounds=1)
    assert "error" in json.loads(added[-1].content)


def test_without_tools_or_messages_there_is_nothing_to_run(tiny: Engine) -> None:
    with pytest.raises(InvalidRequest, match="give messages and tools"):
        run_tools(tiny, Request(prompt="x", tools=(TOOL,)), {})
