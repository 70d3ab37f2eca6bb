from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

from engine import InvalidRequest, Message, Request, Sampling
from engine.tools import declaration


def test_importing_the_package_imports_no_torch() -> None:
    code = "import engine, engine.types, engine.registry, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", math.nan),
        ("temperature", -1),
        ("temperature", "hot"),
        ("temperature", True),
        ("temperature", 1e-40),
        ("temperature", 0.9e-4),
        ("temperature", False),
        ("temperature", 10**400),
        ("top_k", -1),
        ("top_k", 1.5),
        ("top_p", 0),
        ("top_p", 1.1),
        ("min_p", -0.1),
        ("typical_p", 0),
        ("repetition_penalty", 0),
        ("repetition_penalty", 1e-44),
        ("repetition_penalty", 0.009),
        ("repetition_penalty", 101),
        ("frequency_penalty", math.inf),
        ("max_tokens", 0),
        ("max_tokens", -5),
        ("seed", -1),
        ("seed", 2**63),
        ("seed", "x"),
        ("stop", 5),
        ("stop", [1]),
        ("stop", [""]),
        ("stop", b"x"),
        ("stop", ["x"] * 17),
        ("stop", ["half \ud83d of a pair"]),
        pytest.param("max_tokens", 10**5000, id="digits"),
        pytest.param("temperature", 10**5000, id="more digits"),
        ("order", "sideways" * 1000),
        ("logit_bias", {"a": 1}),
        ("logit_bias", {1: math.nan}),
        ("logit_bias", [1]),
        ("logit_bias", {1: 1e39}),
        ("logit_bias", {1: -10_001}),
        ("logit_bias", {1: math.inf}),
        ("logit_bias", {1: 10**400}),
        ("logit_bias", {math.inf: 1}),
        ("logit_bias", {1.5: 1}),
        ("logit_bias", {True: 1}),
        ("order", "sideways"),
        ("logprobs", 101),
    ],
)
def test_an_invalid_setting_is_named(name: str, value: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Sampling.from_dict({name: value})
    assert caught.value.code == "invalid_sampling"
    assert caught.value.field == name
    assert "allowed" in caught.value.message and len(caught.value.message) < 500


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", 0), ("temperature", 1e-4), ("repetition_penalty", 0.01), ("logit_bias", {1: -math.inf}),
     ("logit_bias", {1: 10_000.0})],
)  # fmt: skip
def test_a_bound_itself_is_allowed(name: str, value: object) -> None:
    assert getattr(Sampling.from_dict({name: value}), name) == value


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="temprature"):
        Sampling.from_dict({"temprature": 1})


def test_sampling_survives_a_round_trip() -> None:
    first = Sampling(temperature=0.7, stop=("a", "b"), logit_bias={5: -1.0}, seed=9, order="temperature_last")
    assert Sampling.from_dict(first.to_dict()) == first


def test_a_request_takes_the_command_line_s_json() -> None:
    request = Request.from_dict(
        {
            "messages": [{"role": "user", "content": "hi"}],
            "sampling": {"max_tokens": 3, "stop": "x"},
            "seed": 4,
        }
    )
    assert request.messages == (Message("user", "hi"),)
    assert (request.sampling.seed, request.sampling.stop) == (4, ("x",))


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"prompt": ""},
        {"messages": []},
        {"prompt": "a", "messages": [{"role": "user", "content": "b"}]},
        {"messages": "hi"},
        {"messages": [{"role": "robot", "content": "b"}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"prompt": "a", "regex": "x", "choices": ["y"]},
        {"prompt": "a", "choices": []},
        {"prompt": "a", "wish": 1},
        {"prompt": "a", "sampling": [1]},
        {"prompt": "a", "sampling": []},
        {"prompt": "a", "sampling": ""},
        {"prompt": "a", "id": 5},
        {"prompt": 3},
        {"prompt": "a", "quotes": [{"id": "a", "text": 5}]},
        {"prompt": "a", "quotes": [{"id": 5, "text": "a"}]},
        {"prompt": "a", "quotes": {"id": "a", "text": "b"}},
        {"prompt": "a", "tools": [5]},
        {"prompt": "a", "tools": {"name": "f"}},
        {"prompt": "a", "tools": [{"name": "f", "description": {1, 2}}]},
        {"prompt": "a", "adapter": 5},
        {"prompt": "a", "regex": 5},
        {"prompt": "a", "grammar": ["x"]},
        {"prompt": "a\ud800"},
        {"prompt": "a", "regex": "\ud800"},
        {"prompt": "a", "grammar": "\udfff"},
        {"prompt": "a", "choices": ["b", "\ud800"]},
        {"prompt": "a", "quotes": [{"id": "a", "text": "\ud800"}]},
        {"prompt": "a", "tools": [{"name": "f", "description": "\ud800"}]},
        {"messages": [{"role": "user", "content": "\ud800"}]},
    ],
)
def test_a_malformed_request_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        Request.from_dict(data)


@pytest.mark.parametrize("field", ["prompt", "regex", "grammar", "adapter", "id"])
def test_half_of_a_surrogate_pair_is_named_with_its_field(field: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{field} holds half of a surrogate pair") as caught:
        Request(**{"prompt": "a", field: "\ud83d"})
    assert caught.value.field == field
    assert Request(**{"prompt": "a", field: "\U0001f600"})


@pytest.mark.parametrize("tool", [5, "f", None, {"function": 5}, {"function": {"name": 5}}])
def test_a_declaration_that_is_no_object_is_refused(tool: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        declaration(tool)
    assert caught.value.code == "invalid_tools"
