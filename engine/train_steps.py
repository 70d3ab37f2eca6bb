"""One training step of the answerability adapter: examples to tokens, tokens to a loss."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from engine import reader
from engine.heads import best_span, class_logits, span_logits
from engine.tokenizer import ModelTokenizer
from engine.train_data import Asked, Paragraph
from engine.train_model import Trainee, Tree, tree

SPAN_WEIGHT = 0.5
WORDS_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Branch:
    """A question behind its passage. `asks` is the row that is to know the answer; the answer's tokens follow."""

    question: Asked
    asks: int
    words: tuple[int, ...]
    span: tuple[int, int] | None

    @property
    def answerable(self) -> bool:
        """Whether the passage states the answer."""
        return bool(self.question.answers)


@dataclass(frozen=True, slots=True)
class Pack:
    """A passage with its questions, ready for a forward pass."""

    paragraph: Paragraph
    passage: reader.Encoded
    laid: Tree
    branches: tuple[Branch, ...]

    @property
    def rows(self) -> slice:
        """The passage's own tokens."""
        return slice(self.passage.first, len(self.passage.ids))


def pack(tokenizer: ModelTokenizer, paragraph: Paragraph, rng: random.Random | None = None) -> Pack:
    """Tokens of a passage and its questions; with `rng` one of the accepted answers is drawn as the target."""
    passage = reader.encode_passage(tokenizer, paragraph.text)
    tails, branches, at = [], [], len(passage.ids)
    for asked in paragraph.asked:
        prompt = reader.encode_question(tokenizer, asked.question)
        answer = rng.choice(asked.answers) if rng and asked.answers else (asked.answers or [None])[0]
        span = reader.token_span(passage.spans, answer[1], answer[1] + len(answer[0])) if answer else None
        words = tokenizer.encode_text(f" {answer[0]}" if answer else reader.NOT_STATED)
        words = [*words, min(tokenizer.eos_ids)]
        branches.append(Branch(asked, at + len(prompt) - 1, tuple(words), span))
        tails.append([*prompt, *words[:-1]])
        at += len(tails[-1])
    return Pack(paragraph, passage, tree(passage.ids, tails), tuple(branches))


def losses(model: Trainee, made: Pack) -> Tensor:
    """The loss of a pack, summed over its questions: answerable or not, the span, the answer's own words."""
    hidden = model.hidden(made.laid)
    last = hidden[[b.asks for b in made.branches]]
    wanted = torch.tensor([float(b.answerable) for b in made.branches])
    loss = F.binary_cross_entropy_with_logits(
        class_logits(model.parameters, last)[:, 0], wanted, reduction="sum"
    )
    return (
        loss
        + SPAN_WEIGHT * _span_loss(model, made, last, hidden)
        + WORDS_WEIGHT * _words_loss(model, made, hidden)
    )


def _span_loss(model: Trainee, made: Pack, last: Tensor, hidden: Tensor) -> Tensor:
    marked = [(i, b.span) for i, b in enumerate(made.branches) if b.span]
    if not marked:
        return torch.zeros(())
    logits = span_logits(model.parameters, last[[i for i, _ in marked]], hidden[made.rows])
    targets = torch.tensor([span for _, span in marked]).T
    return sum((F.cross_entropy(x, y, reduction="sum") for x, y in zip(logits, targets, strict=True)),
               torch.zeros(())) / 2  # fmt: skip


def _words_loss(model: Trainee, made: Pack, hidden: Tensor) -> Tensor:
    """Mean over each answer's tokens, so that a long answer weighs no more than a short one."""
    rows = [b.asks + i for b in made.branches for i in range(len(b.words))]
    weights = torch.tensor([1 / len(b.words) for b in made.branches for _ in b.words])
    logits = F.linear(hidden[rows].to(model.decoder.dtype), model.decoder.embedding).float()
    targets = torch.tensor([word for b in made.branches for word in b.words])
    return (F.cross_entropy(logits, targets, reduction="none") * weights).sum()


@dataclass(frozen=True, slots=True)
class Read:
    """What the model makes of one question: the logit of "stated", its best span and that span's probability."""

    asked: Asked
    logit: float
    text: str
    sure: float


@torch.inference_mode()
def read_all(model: Trainee, made: Pack) -> list[Read]:
    """The answers to a pack's questions."""
    hidden = model.hidden(made.laid)
    last = hidden[[b.asks for b in made.branches]]
    logits = class_logits(model.parameters, last)[:, 0]
    starts, ends = span_logits(model.parameters, last, hidden[made.rows])
    found = []
    for i, branch in enumerate(made.branches):
        first, final, sure = best_span(starts[i], ends[i])
        low, high = made.passage.spans[first][0], made.passage.spans[final][1]
        low, high = reader.trimmed(made.paragraph.text, low, high)
        found.append(Read(branch.question, float(logits[i]), made.paragraph.text[low:high], sure))
    return found


def read_packs(model: Trainee, tokenizer: ModelTokenizer, paragraphs: Sequence[Paragraph]) -> list[Read]:
    """The answers to every question of some passages."""
    model.training = False
    found = [read for p in paragraphs if p.asked for read in read_all(model, pack(tokenizer, p))]
    model.training = True
    return found
