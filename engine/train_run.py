"""The training run: steps, learning rate, a progress line, the best weights so far."""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from engine.answer_scores import auc, balanced_accuracy, best_threshold, exact, f1
from engine.tokenizer import ModelTokenizer
from engine.train_data import Paragraph, packs
from engine.train_model import Trainee
from engine.train_steps import Pack, Read, losses, pack, read_packs


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that shapes a run besides the data.

    `minutes` above 0 ends it early: the learning rate then falls with the clock where that is ahead of the steps.
    `average` above 0 keeps a running mean of the weights, which is what is checked and written.
    """

    seed: int = 0
    epochs: int = 2
    rank: int = 8
    first_layer: int = 8
    alpha: float = 16.0
    rate: float = 5e-4
    head_rate: float = 1e-3
    drop: float = 0.0
    decay: float = 0.01
    warm: float = 0.06
    packs_a_step: int = 1
    questions_a_pack: int = 16
    strange: float = 0.12
    swap: float = 0.0
    average: float = 0.0
    minutes: float = 0.0
    check_every: int = 100


@dataclass(frozen=True, slots=True)
class Marks:
    """How a set of answers scores; `threshold` is the logit at which balanced accuracy is highest."""

    questions: int
    auc: float
    balanced_accuracy: float
    exact: float
    f1: float
    threshold: float

    @property
    def quality(self) -> float:
        """What the best weights are chosen by."""
        return self.auc + self.f1


def marks(reads: Sequence[Read]) -> Marks:
    """Scores of answers; exact match and F1 are of the span on answerable questions, whatever the gate says."""
    logits, wanted = [r.logit for r in reads], [bool(r.asked.answers) for r in reads]
    edge = best_threshold(logits, wanted)
    pairs = [(r.text, [a for a, _ in r.asked.answers]) for r in reads if r.asked.answers]
    return Marks(
        len(reads),
        auc(logits, wanted),
        balanced_accuracy([x >= edge for x in logits], wanted),
        sum(exact(*p) for p in pairs) / max(1, len(pairs)),
        sum(f1(*p) for p in pairs) / max(1, len(pairs)),
        edge,
    )


class Run:
    """A training run over packed passages. `best` holds the weights that did best on the passages set aside."""

    def __init__(
        self,
        model: Trainee,
        tokenizer: ModelTokenizer,
        recipe: Recipe,
        train: Sequence[Paragraph],
        chosen_by: Sequence[Paragraph],
    ) -> None:
        self.model, self.tokenizer, self.recipe = model, tokenizer, recipe
        self.train, self.chosen_by = train, chosen_by
        self.rng = random.Random(recipe.seed)
        torch.manual_seed(recipe.seed)
        for tensor in model.parameters.values():
            tensor.requires_grad_()
        self.optimiser = _optimiser(model.parameters, recipe)
        self.mean = {name: t.detach().clone() for name, t in model.parameters.items()}
        self.best: dict[str, Tensor] = {}
        self.best_marks: Marks | None = None
        self.best_step = 0
        self.steps = 0

    def __iter__(self) -> Iterator[Marks]:
        """Trains; yields the marks at each check."""
        batches = [b for _ in range(self.recipe.epochs) for b in self._epoch()]
        started, recent = time.monotonic(), 0.0
        for self.steps, batch in enumerate(batches, 1):
            done = max(self.steps / len(batches), self._clock(started))
            loss = self._step(batch, min(1.0, done))
            recent = loss if self.steps == 1 else 0.95 * recent + 0.05 * loss
            _show(self.steps, len(batches), recent, time.monotonic() - started)
            if self.steps % self.recipe.check_every == 0 or done >= 1:
                yield self._check()
            if done >= 1:
                return

    def _clock(self, started: float) -> float:
        """The share of the allowed time that is gone; 0 without a limit."""
        limit = 60 * self.recipe.minutes
        return (time.monotonic() - started) / limit if limit else 0.0

    def _epoch(self) -> list[list[Paragraph]]:
        r = self.recipe
        order = list(packs(self.train, self.rng, r.questions_a_pack, r.strange, r.swap))
        size = r.packs_a_step
        return [order[i : i + size] for i in range(0, len(order), size)]

    def _step(self, batch: Sequence[Paragraph], done: float) -> float:
        made = [pack(self.tokenizer, p, self.rng) for p in batch if p.asked]
        questions = sum(len(m.branches) for m in made)
        total = sum(self._backward(m, questions) for m in made)
        torch.nn.utils.clip_grad_norm_(self.model.parameters.values(), 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = group["top"] * schedule(done, self.recipe.warm)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self._average()
        return total

    def _average(self) -> None:
        """Moves the mean towards the weights; at first it follows them closely."""
        keep = min(self.recipe.average, (1 + self.steps) / (10 + self.steps))
        for name, tensor in self.model.parameters.items():
            self.mean[name].lerp_(tensor.detach(), 1 - keep)

    def _backward(self, made: Pack, questions: int) -> float:
        loss = losses(self.model, made) / max(1, questions)
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        return float(loss.detach())

    def _check(self) -> Marks:
        trained, self.model.parameters = self.model.parameters, self.mean
        found = marks(read_packs(self.model, self.tokenizer, self.chosen_by))
        self.model.parameters = trained
        if self.best_marks is None or found.quality > self.best_marks.quality:
            self.best_marks, self.best_step = found, self.steps
            self.best = {name: t.clone() for name, t in self.mean.items()}
        print(f"\nstep {self.steps}: {asdict(found)}", file=sys.stderr, flush=True)
        return found


def _optimiser(parameters: dict[str, Tensor], recipe: Recipe) -> torch.optim.Optimizer:
    low = [t for name, t in parameters.items() if name.startswith("layers.")]
    heads = [t for name, t in parameters.items() if not name.startswith("layers.")]
    groups = [
        {"params": low, "lr": recipe.rate, "top": recipe.rate},
        {"params": heads, "lr": recipe.head_rate, "top": recipe.head_rate},
    ]
    return torch.optim.AdamW(groups, betas=(0.9, 0.99), weight_decay=recipe.decay)


def schedule(done: float, warm: float) -> float:
    """The share of the full learning rate: a linear rise, then half a cosine down to a twentieth."""
    if done < warm:
        return done / warm
    return 0.05 + 0.95 * (1 + math.cos(math.pi * (done - warm) / (1 - warm))) / 2


def _show(step: int, steps: int, loss: float, seconds: float) -> None:
    left = seconds / step * (steps - step)
    end = "\r" if sys.stderr.isatty() else "\n"
    if end == "\r" or step % 10 == 0 or step == steps:
        line = f"step {step}/{steps}  loss {loss:.3f}  {seconds:.0f} s gone, about {left:.0f} s left"
        print(line, end=end, file=sys.stderr, flush=True)
