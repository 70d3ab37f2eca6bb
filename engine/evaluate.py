"""`python -m engine evaluate NAME --data PATH [--json]`: runs an evaluation set through the engine's own code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

# name -> (module with `main(argv) -> status`, one line of help)
EVALUATIONS = {
    "grading": ("engine.evaluate_grading", "verdicts on labelled answers"),
    "abstention": ("engine.evaluate_abstention", "answers and abstentions on questions over passages"),
    "schemas": ("engine.evaluate_schemas", "JSON schemas: compiled or refused, and what their masks admit"),
}


def known() -> dict[str, tuple[str, str]]:
    """The evaluations whose module is installed."""
    return {name: found for name, found in EVALUATIONS.items() if find_spec(found[0])}


def main(argv: Sequence[str]) -> int:
    """Runs one evaluation and returns its exit status."""
    found = known()
    name, rest = (argv[0], list(argv[1:])) if argv else ("", [])
    if name in found:
        return int(import_module(found[name][0]).main(rest))
    rows = "\n".join(f"  {name:<11} {text}" for name, (_, text) in found.items())
    print(f"usage: python -m engine evaluate NAME --data PATH [--json]\n{rows}", file=sys.stderr)
    return 0 if name in ("-h", "--help") else 2
