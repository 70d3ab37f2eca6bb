"""`python -m engine`: JSON lines in, JSON lines out, one result a line; logs and progress on stderr."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from engine import registry, sources
from engine.errors import EngineError
from engine.lines import each_line, text_lines
from engine.registry import ModelCard
from engine.types import Request

# Commands of other files: name -> (module, function, one line of help); the function takes argv, returns the
# status.
DELEGATED = {
    "grade": ("engine.grading_cli", "main", "grade answers against a rubric"),
    "ask": ("engine.ask_cli", "main", "answer questions from passages, or abstain"),
    "tokens": ("engine.tokens_cli", "main", "count and show the tokens of texts"),
    "bench": ("engine.bench", "main", "measure the engine, beside a peer if asked"),
    "evaluate": ("engine.evaluate", "main", "run an evaluation set"),
    "calibrate": ("engine.calibrate", "main", "set the thresholds of grounded answers"),
    "train": ("engine.train", "main", "train an adapter or a head"),
}


def models_dir() -> Path:
    """Where models lie: PREFILL_MODELS_DIR or var/models."""
    return Path(os.environ.get("PREFILL_MODELS_DIR", str(registry.DEFAULT_DIR)))


def show_progress(stage: str, fraction: float) -> None:
    """A bar on a terminal, plain lines elsewhere."""
    filled = int(fraction * 30)
    end = "\n" if fraction >= 1 or not sys.stderr.isatty() else "\r"
    print(f"[{'#' * filled}{'.' * (30 - filled)}] {stage}", end=end, file=sys.stderr, flush=True)


def generate(argv: Sequence[str]) -> int:
    """Reads requests from stdin, writes results to stdout."""
    parser = argparse.ArgumentParser(prog="python -m engine generate", description=generate.__doc__)
    parser.add_argument("--model", default=os.environ.get("ENGINE_MODEL", registry.DEFAULT_MODEL))
    parser.add_argument(
        "--url", default=os.environ.get("ENGINE_URL"), help="an OpenAI-compatible server instead"
    )
    parser.add_argument("--threads", type=int)
    parser.add_argument("--format", choices=list(registry.FORMATS))
    options = parser.parse_args(argv)
    if options.url:
        return remote(options.url, options.model)
    sources.find(options.model, models_dir(), show_progress)
    from engine.llm import Engine

    with Engine.load(options.model, models_dir(), options.threads, weight_format=options.format) as engine:
        return each_line(text_lines(), lambda data: engine.generate(Request.from_dict(data)).to_dict())


def remote(url: str, model: str) -> int:
    """The same lines answered by a server; ENGINE_KEY is its key."""
    from engine.remote import RemoteEngine

    with RemoteEngine(url, model, os.environ.get("ENGINE_KEY", "")) as engine:
        return each_line(text_lines(), lambda data: engine.generate(Request.from_dict(data)).to_dict())


def model(argv: Sequence[str]) -> int:
    """Prepares models and prints their cards, one JSON line each; a path or a hub id works too."""
    parser = argparse.ArgumentParser(prog="python -m engine model", description=model.__doc__)
    parser.add_argument(
        "names", nargs="*", default=list(registry.MODELS), help=f"of {', '.join(registry.MODELS)}"
    )
    for name in parser.parse_args(argv).names or list(registry.MODELS):
        print(json.dumps(_card(name).to_dict()), flush=True)
    return 0


def _card(name: str) -> ModelCard:
    """The card of a model by any of its kinds of name, once it is prepared; the registry also knows other kinds."""
    if name in registry.MODELS:
        folder = registry.prepare(name, models_dir(), show_progress)
        found = registry.card(name, models_dir())
        if found.file.endswith(".gguf"):
            _pack(folder / found.file, found.sha256, folder)
        return found
    source = sources.find(name, models_dir(), show_progress)
    found = sources.card(source, models_dir())
    if source.kind == "gguf":
        _pack(source.path, found.sha256, models_dir())
    return found


def _pack(file: Path, sha256: str, folder: Path) -> None:
    """What the first load would do to 4-bit weights, done now; a folder that can't be written to is left alone."""
    from engine.gguf_weights import prepare_int4

    if os.access(folder, os.W_OK):
        prepare_int4(file, sha256, folder, show_progress)


def usage() -> str:
    """One line a command."""
    own = {"generate": generate.__doc__, "model": model.__doc__}
    others = [(name, text) for name, (module, _, text) in DELEGATED.items() if find_spec(module)]
    rows = [*own.items(), *others]
    return "usage: python -m engine COMMAND [options]\n" + "\n".join(
        f"  {name:<9} {text}" for name, text in rows
    )


def main(argv: Sequence[str]) -> int:
    """Runs one command and returns its exit status."""
    own = {"generate": generate, "model": model}
    command, rest = (argv[0], argv[1:]) if argv else ("", [])
    try:
        if command in own:
            return own[command](rest)
        if command in DELEGATED and find_spec(DELEGATED[command][0]):
            module, function, _ = DELEGATED[command]
            return int(getattr(import_module(module), function)(rest))
    except EngineError as error:
        print(json.dumps({"error": error.to_dict()}), flush=True)
        return 1
    print(usage(), file=sys.stderr)
    return 0 if command in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
