"""`python -m engine train`: trains an adapter and writes it with a card of its data, command and results."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from engine import registry
from engine.errors import InvalidRequest
from engine.gguf_file import read_gguf
from engine.gguf_weights import load_gguf
from engine.tokenizer import from_gguf
from engine.train_data import Paragraph, read_squad, split
from engine.train_model import Trainee, new_parameters
from engine.train_run import Marks, Recipe, Run, marks
from engine.train_steps import read_packs

TASKS = ("answerability",)
VERSION = "1"


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = argparse.ArgumentParser(prog="python -m engine train", description=main.__doc__)
    made.add_argument("--task", choices=TASKS, required=True)
    made.add_argument("--data", type=Path, required=True, help="questions in SQuAD 2.0 layout")
    made.add_argument(
        "--hold", nargs="*", default=[], help="titles of articles to report on, never trained on"
    )
    made.add_argument("--out", type=Path, required=True, help="the folder to write to")
    made.add_argument("--start", type=Path, help="the folder of an adapter to go on from")
    made.add_argument("--model", default=registry.DEFAULT_MODEL)
    made.add_argument("--threads", type=int, default=1)
    made.add_argument("--source", default="", help="where the data comes from and its licence, for the card")
    default = asdict(Recipe())
    for name, value in default.items():
        made.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return made


def main(argv: Sequence[str]) -> int:
    """Trains an adapter on labelled questions; the weights that do best on passages set aside are kept."""
    options = parser().parse_args(argv)
    if options.threads < 1:
        raise InvalidRequest("invalid_request", f"threads is {options.threads}; give 1 or more", "threads")
    torch.set_num_threads(options.threads)
    recipe = Recipe(**{name: getattr(options, name) for name in asdict(Recipe())})
    paragraphs = read_squad(options.data)
    train, chosen_by = split(paragraphs, options.hold)
    folder = Path(os.environ.get("PREFILL_MODELS_DIR", str(registry.DEFAULT_DIR)))
    path = registry.prepare(options.model, folder) / registry.spec_of(options.model).weights
    card = registry.card(options.model, folder)
    decoder, tokenizer = load_gguf(path, card.sha256, "int4"), from_gguf(read_gguf(path).metadata)
    parameters = new_parameters(decoder, recipe.rank, recipe.seed, recipe.first_layer)
    earlier = go_on(parameters, options.start, card.sha256) if options.start else {}
    model = Trainee(decoder, parameters, recipe.alpha / recipe.rank, recipe.drop)
    run = Run(model, tokenizer, recipe, train, chosen_by)
    started = time.monotonic()
    about: dict[str, Any] = {
        "task": options.task,
        "version": VERSION,
        "base": {"name": card.name, "sha256": card.sha256},
        "rank": recipe.rank,
        "factor": recipe.alpha / recipe.rank,
        "classes": [options.task],
        "command": _command(argv, options),
        **earlier,
        "data": _data(options.data, options.source, train, chosen_by, options.hold),
        "recipe": asdict(recipe),
    }
    for _ in run:
        if run.best_step == run.steps:
            results = {"step": run.best_step, "seconds": round(time.monotonic() - started)}
            write(options.out, run, about, results)
    model.parameters = run.best
    held = [p for p in paragraphs if p.article in options.hold]
    report = _held_marks(model, run, held)
    write(
        options.out,
        run,
        about,
        {"step": run.best_step, "seconds": round(time.monotonic() - started), **report},
    )
    print(json.dumps({"out": str(options.out), **report}), flush=True)
    return 0


def go_on(parameters: dict[str, Tensor], folder: Path, model: str) -> dict[str, Any]:
    """Puts an earlier adapter's weights in the place of fresh ones; what the card says of it.

    Raises `InvalidRequest` where it belongs to another model or has another shape.
    """
    card = json.loads((folder / "card.json").read_text())
    stored = load_file(folder / "adapter.safetensors")
    same = {name: tuple(t.shape) for name, t in stored.items()} == {
        name: tuple(t.shape) for name, t in parameters.items()
    }
    if not same or card["base"]["sha256"] != model:
        raise InvalidRequest(
            "adapter_mismatch", f"{folder} is of another model, rank or first layer", "start"
        )
    parameters.update({name: t.float() for name, t in stored.items()})
    told = ("command", "sha256", "results", "started_from")
    return {"started_from": {name: card[name] for name in told if name in card}}


def _held_marks(model: Trainee, run: Run, held: Sequence[Paragraph]) -> dict[str, Any]:
    """Marks on the held articles at the threshold that the passages set aside gave."""
    if not held or run.best_marks is None:
        return {}
    reads = read_packs(model, run.tokenizer, held)
    at = run.best_marks.threshold
    found: Marks = marks(reads)
    halves = [[r.logit >= at for r in reads if bool(r.asked.answers) is kind] for kind in (True, False)]
    rates = [sum(half) / max(1, len(half)) for half in halves]
    own = {"balanced_accuracy": (rates[0] + 1 - rates[1]) / 2, "threshold": at}
    return {"held_out": {**asdict(found), **own}}


def _command(argv: Sequence[str], options: argparse.Namespace) -> str:
    """The command as given, files by their names alone."""
    names = {str(options.data): options.data.name, str(options.out): options.out.name}
    if options.start:
        names[str(options.start)] = options.start.name
    return "python -m engine train " + shlex.join(names.get(word, word) for word in argv)


def _data(
    path: Path, source: str, train: Sequence[Paragraph], chosen_by: Sequence[Paragraph], held: Sequence[str]
) -> dict[str, Any]:
    return {
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "source": source,
        "trained_on": sorted({p.article for p in train}),
        "held_out": sorted(held),
        "questions": sum(len(p.asked) for p in train),
        "chosen_by_questions": sum(len(p.asked) for p in chosen_by),
    }


def write(folder: Path, run: Run, about: dict[str, Any], results: dict[str, Any]) -> None:
    """Writes adapter.safetensors (bf16 updates, fp32 heads) and card.json with its hash."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: t.to(torch.bfloat16 if name.startswith("layers.") else torch.float32).contiguous()
        for name, t in run.best.items()
    }
    save_file(tensors, folder / "adapter.safetensors")
    digest = hashlib.sha256((folder / "adapter.safetensors").read_bytes()).hexdigest()
    chosen = asdict(run.best_marks) if run.best_marks else {}
    card = {**about, "sha256": digest, "results": {**results, "chosen_by": chosen}}
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
