"""Schemas with instances: which compile, what the masks admit, what the final check refuses, what the model writes.

Data: a folder of JSON files, each {"schema", "tests": [{"valid", "data"}]} (the form of JSONSchemaBench's MaskBench).
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from engine import registry
from engine.constraints import Constraint, of_request, parse
from engine.errors import EngineError, InvalidRequest
from engine.llm import Engine
from engine.types import Message, Request, Sampling


@dataclass
class Outcome:
    """One schema. `false_valid` counts instances that are wrong and yet pass mask and final check: must be 0."""

    name: str
    compiled: bool = False
    refusal: str | None = None
    valid: int = 0
    valid_admitted: int = 0
    invalid: int = 0
    invalid_admitted: int = 0
    false_valid: int = 0
    written: dict[str, int] = field(default_factory=dict)


def main(argv: Sequence[str]) -> int:
    """Evaluates every schema of a folder and prints the sums; `--json` prints every outcome."""
    parser = argparse.ArgumentParser(prog="python -m engine evaluate schemas", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=2, help="texts the model writes a schema (default 2)")
    parser.add_argument("--tokens", type=int, default=192, help="tokens a text may have (default 192)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    models_dir = Path(os.environ.get("PREFILL_MODELS_DIR", str(registry.DEFAULT_DIR)))
    with Engine.load(models_dir=models_dir) as engine:
        outcomes = [judge(engine, *item, options.samples, options.tokens) for item in read(options.data)]
    sums = totals(outcomes)
    print(json.dumps({**sums, "schemas": [asdict(o) for o in outcomes]} if options.json else sums, indent=1))
    return 0


def read(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """The files of a folder that hold a schema. Raises `InvalidRequest` without one."""
    files = sorted(folder.glob("*.json")) if folder.is_dir() else [folder]
    found = []
    for file in files:
        try:
            data = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise InvalidRequest("invalid_data", f"{file} can't be read as JSON: {error}", "data") from error
        if isinstance(data, dict) and "schema" in data:
            found.append((file.stem, data))
    if not found:
        raise InvalidRequest("invalid_data", f"{folder} holds no file with a schema", "data")
    return found


def judge(engine: Engine, name: str, data: dict[str, Any], samples: int, tokens: int) -> Outcome:
    """What the engine makes of one schema and its instances."""
    outcome = Outcome(name)
    request = Request(prompt="x", schema=data["schema"])
    try:
        constraint = of_request(request)
        assert constraint is not None
        engine.grammars.matcher(constraint)
    except EngineError as error:
        outcome.refusal = error.message
        return outcome
    outcome.compiled = True
    for test in data.get("tests", []):
        admitted = admits(engine, constraint, test["data"])
        passes = checked(constraint, test["data"])
        if test["valid"]:
            outcome.valid += 1
            outcome.valid_admitted += admitted
        else:
            outcome.invalid += 1
            outcome.invalid_admitted += admitted
            outcome.false_valid += admitted and passes
    outcome.written = written(engine, data["schema"], samples, tokens)
    return outcome


def admits(engine: Engine, constraint: Constraint, value: Any) -> bool:
    """Whether the masks would let the model write this value, compactly, in the value's own key order."""
    matcher = engine.grammars.matcher(constraint)
    ids = engine.tokenizer.encode_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return matcher.admissible(ids) == len(ids) and _consumed(matcher, ids)


def _consumed(matcher: Any, ids: list[int]) -> bool:
    for token in ids:
        matcher.consume(token)
    return bool(matcher.accepting)


def checked(constraint: Constraint, value: Any) -> bool:
    """Whether the final check takes the value."""
    try:
        parse(constraint, json.dumps(value, ensure_ascii=False))
    except EngineError:
        return False
    return True


def written(engine: Engine, schema: Any, samples: int, tokens: int) -> dict[str, int]:
    """How the model's own texts under the schema end: valid, truncated, or refused by the final check."""
    ask = (Message("user", "Give one example of the data, as JSON."),)
    handles = [
        engine.submit(
            Request(
                messages=ask, schema=schema, sampling=Sampling(temperature=0.8, seed=n, max_tokens=tokens)
            )
        )
        for n in range(samples)
    ]
    counts = {"valid": 0, "truncated": 0, "refused": 0}
    for result in [handle.result() for handle in handles]:
        state = result.stats.get("constraint", {})
        key = "truncated" if state.get("truncated") else "valid" if state.get("valid") else "refused"
        counts[key] += 1
    return counts


def totals(outcomes: list[Outcome]) -> dict[str, Any]:
    """The sums over all schemas."""
    written = {key: sum(o.written.get(key, 0) for o in outcomes) for key in ("valid", "truncated", "refused")}
    names = ("valid", "valid_admitted", "invalid", "invalid_admitted", "false_valid")
    return {
        "n_schemas": len(outcomes),
        "compiled": sum(o.compiled for o in outcomes),
        **{name: sum(getattr(o, name) for o in outcomes) for name in names},
        "written": written,
    }
