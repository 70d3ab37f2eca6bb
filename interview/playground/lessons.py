"""The pages of the playground in the order in which they teach."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse


@dataclass(frozen=True)
class Lesson:
    """One page: its URL's name and what it shows."""

    page: str
    title: str
    about: str

    @property
    def url(self) -> str:
        """The page's address."""
        return reverse(self.page if ":" in self.page else f"playground:{self.page}")


LESSONS = (
    Lesson(
        "generate",
        "Generate",
        "A prompt, every decoding control, and each token with what else it could have been. Go on from another token.",
    ),
    Lesson(
        "next-token",
        "Next token",
        "The loop by hand: every probability of a real step, the filters moving, a pick or a draw, undo.",
    ),
    Lesson(
        "attention",
        "Attention",
        "Where each position of your text reads from, layer by layer and head by head, with the causal mask.",
    ),
    Lesson(
        "structured-output",
        "Structured output",
        "A contract with and without constrained decoding: parse, schema, semantics, retries, and what the grammar masked.",
    ),
    Lesson(
        "tools:tools",
        "Tools",
        "The model proposes calls; code checks them, runs or refuses them, and what has an effect waits for you.",
    ),
    Lesson(
        "trials",
        "Trials",
        "The same prompt many times under several settings, as one batch: distinct answers, agreement, validity, intervals.",
    ),
    Lesson(
        "drift",
        "Drift",
        "Pin prompts and a configuration, ask again later: sampling noise told from real change.",
    ),
    Lesson(
        "serving",
        "Serving",
        "Load on the engine of this machine: batch size, first token, time between tokens, cache, beside the predictions.",
    ),
    Lesson(
        "prompts",
        "Prompts",
        "A library of versioned templates with variables and differences; runs record which version they used.",
    ),
)
