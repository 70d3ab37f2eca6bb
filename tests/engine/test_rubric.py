from __future__ import annotations

import copy
import json
import subprocess
import sys
from typing import Any

import pytest

from engine.rubric import Rubric, RubricError

RUBRIC: dict[str, Any] = {
    "points": [
        {
            "id": "linear",
            "weight": 2,
            "means": "The cache grows in step with the sequence.",
            "statements": ["The cache grows linearly.", "Memory climbs with each token."],
            "anchors": [["cache", "stored keys"], ["linear", "in step with"]],
            "numbers": [
                {"value": 19.327, "unit": "GB", "of": ["cache"], "tolerance": 0.02, "required": False}
            ],
        },
        {"id": "extra", "means": "It is one cost among several.", "optional": True},
    ],
    "misconceptions": [
        {
            "id": "flat",
            "statements": ["The cache stays the same size."],
            "right": "It grows.",
            "points": ["linear"],
        }
    ],
}


def changed(path: list[Any], value: object) -> dict[str, Any]:
    data = copy.deepcopy(RUBRIC)
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


def test_round_trip_keeps_everything() -> None:
    rubric = Rubric.from_dict(RUBRIC)
    again = Rubric.from_dict(json.loads(json.dumps(rubric.to_dict())))
    assert again == rubric
    assert again.hash == rubric.hash
    assert rubric.points[1].statements == ("It is one cost among several.",)
    assert rubric.misconceptions[0].penalty == 0.25


def test_hash_ignores_key_order_and_notices_content() -> None:
    rubric = Rubric.from_dict(RUBRIC)
    shuffled = {"misconceptions": RUBRIC["misconceptions"], "points": RUBRIC["points"]}
    assert Rubric.from_dict(shuffled).hash == rubric.hash
    assert Rubric.from_dict(changed(["points", 0, "weight"], 3)).hash != rubric.hash
    assert len(rubric.hash) == 64


@pytest.mark.parametrize(
    ("path", "value", "named", "says"),
    [
        (["points"], [], "points", "at least 1"),
        (["points", 0, "id"], "", "points[0].id", "empty"),
        (["points", 0, "weight"], -1, "points[0].weight", "above 0"),
        (["points", 0, "weight"], float("nan"), "points[0].weight", "finite"),
        (["points", 0, "statements"], "one", "points[0].statements", "list"),
        (["points", 0, "anchors", 1], [], "points[0].anchors[1]", "at least 1"),
        (["points", 0, "anchors", 1, 0], 7, "points[0].anchors[1][0]", "text"),
        (["points", 0, "numbers", 0, "tolerance"], 2, "points[0].numbers[0].tolerance", "relative"),
        (["points", 0, "numbers", 0, "value"], "x", "points[0].numbers[0].value", "number"),
        (["points", 0, "numbers", 0, "units"], "GB", "points[0].numbers[0].units", "unknown key"),
        (["points", 0, "optional"], "yes", "points[0].optional", "true or false"),
        (["points", 1, "id"], "linear", "points[1].id", "twice"),
        (["points", 0, "optional"], True, "points", "optional"),
        (["misconceptions", 0, "points", 0], "linaer", "misconceptions[0].points[0]", "linear"),
        (["misconceptions", 0, "penalty"], 1.5, "misconceptions[0].penalty", "0 to 1"),
        (["misconceptions", 0, "right"], None, "misconceptions[0].right", "nothing"),
    ],
)
def test_a_fault_is_named_by_its_path(path: list[Any], value: object, named: str, says: str) -> None:
    with pytest.raises(RubricError) as caught:
        Rubric.from_dict(changed(path, value))
    assert caught.value.path == named
    assert says in caught.value.message
    assert caught.value.code == "invalid_rubric"


@pytest.mark.parametrize("data", [None, [], "x", 3])
def test_something_else_than_an_object_is_refused(data: object) -> None:
    with pytest.raises(RubricError, match="object"):
        Rubric.from_dict(data)


def test_it_loads_without_torch() -> None:
    code = "import sys, engine.rubric; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
