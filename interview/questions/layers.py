"""Which layer should change: from a requirement to prompt, retrieval, tools or fine-tuning (pure).

Each answer speaks for or against a layer, with its reason. What speaks against outweighs: a layer that can't do a job is not
saved by doing another one well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LAYERS = ("prompt", "retrieval", "tools", "fine-tuning")
TITLES = {
    "prompt": "Prompt and constrained output",
    "retrieval": "Retrieval",
    "tools": "Tools",
    "fine-tuning": "Fine-tuning",
}
EVALUATIONS = {
    "prompt": "Pass rate on a held-out set of real inputs, before and after, with its interval; for a schema also the share of outputs that a program accepts and the share that is right.",
    "retrieval": "Recall of the passage that holds the answer among the first k, then the share of claims the cited passage supports, and the abstention rate on questions without an answer.",
    "tools": "Share of tasks that end in the right state, wrong or needless calls, and effects that happened twice when calls were repeated.",
    "fine-tuning": "Win rate against the best prompt on inputs held out from training, and the same general tasks as before to see what was forgotten.",
}
FIRST = {
    "prompt": "Write the requirement into the prompt, add two or three examples, and constrain the output where a program reads it.",
    "retrieval": "Collect the documents, write twenty questions with the passage that answers each, and measure recall before any model answers.",
    "tools": "Describe one narrow function with a schema, check permissions and arguments in code, and make every effect repeatable without harm.",
    "fine-tuning": "Collect reviewed examples, hold a part of them out, and first measure how far the best prompt gets on that part.",
}


@dataclass(frozen=True)
class Question:
    """One requirement with its possible answers: (value, words)."""

    name: str
    ask: str
    answers: tuple[tuple[str, str], ...]

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for value, _ in self.answers)


QUESTIONS = (
    Question(
        "facts",
        "Does it need facts the model was not trained on?",
        (("", "no"), ("slow", "yes, they change over months"), ("fast", "yes, they change daily or are private"), ("live", "yes, the state of a system right now")),
    ),
    Question("action", "Must something happen outside the text?", (("", "no"), ("yes", "yes, an action such as a booking or a query"))),
    Question("format", "Does a program read the output?", (("", "no"), ("yes", "yes, in a fixed format"))),
    Question(
        "style",
        "Is a style or a judgement wanted that the model misses?",
        (("", "no"), ("told", "yes, and a page of rules describes it"), ("shown", "yes, and only many examples show it")),
    ),
    Question("latency", "Is the present prompt too slow or too dear?", (("", "no"), ("yes", "yes, long instructions on every call"))),
    Question("undo", "Must a change be taken back within minutes?", (("", "no"), ("yes", "yes"))),
    Question("examples", "Are there hundreds of reviewed examples?", (("", "no"), ("yes", "yes"))),
)  # fmt: skip

# (question, answer) → (layer, weight, reason)
REASONS: dict[tuple[str, str], tuple[tuple[str, int, str], ...]] = {
    ("facts", "slow"): (
        ("retrieval", 2, "Facts that change stay in documents, where they can be edited, dated and cited."),
        ("fine-tuning", -2, "Tuning teaches manner better than facts, and a fact learnt that way can't be edited or cited."),
    ),
    ("facts", "fast"): (
        ("retrieval", 3, "Facts that change daily or belong to one customer are looked up when they are asked for, with that person's rights."),
        ("fine-tuning", -3, "Weights would be out of date the next day, and private facts in weights reach everybody who asks."),
    ),
    ("facts", "live"): (
        ("tools", 3, "The state of a system is asked from that system; an index of it is old the moment it is built."),
        ("retrieval", -1, "A document index lags behind a live system."),
        ("fine-tuning", -3, "Weights can't know a state that changes by the minute."),
    ),
    ("action", "yes"): (
        ("tools", 3, "Only code can act; the model proposes a call, and your code checks and performs it."),
    ),
    ("format", "yes"): (
        ("prompt", 2, "A grammar or schema at decoding makes every output parse; the prompt says what the fields mean."),
        ("fine-tuning", -1, "Tuning makes a format likely, a grammar makes it certain."),
    ),
    ("style", "told"): (("prompt", 2, "What a page of rules describes, a page of prompt can ask for."),),
    ("style", "shown"): (
        ("fine-tuning", 2, "A manner that only many examples show is what weight updates learn well."),
        ("prompt", 1, "A few well-chosen examples in the prompt are the baseline to beat."),
    ),
    ("latency", "yes"): (
        ("fine-tuning", 1, "Instructions learnt into the weights need not be read on every call."),
        ("prompt", 1, "First order the prompt so that its fixed part is cached, and cut what no evaluation misses."),
        ("retrieval", -1, "Passages make the prompt longer."),
    ),
    ("undo", "yes"): (
        ("prompt", 1, "A prompt is rolled back by a release of text."),
        ("retrieval", 1, "A document is taken out of the index at once."),
        ("fine-tuning", -1, "A tuned model is rolled back only as a whole, and only if the one before still runs."),
    ),
    ("examples", "yes"): (("fine-tuning", 1, "There is something to learn from and to hold out."),),
    ("examples", ""): (("fine-tuning", -2, "Without reviewed examples there is nothing to tune on and nothing to test with."),),
}  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """One layer with what speaks for and against it."""

    name: str
    verdict: str
    for_it: list[str]
    against: list[str]

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @property
    def evaluation(self) -> str:
        return EVALUATIONS[self.name]

    @property
    def first(self) -> str:
        return FIRST[self.name]


def decide(answers: Mapping[str, str]) -> list[Layer]:
    """The layers, those to change first. With no requirement at all only the prompt is left to change."""
    layers = [_layer(name, answers) for name in LAYERS]
    if not any(layer.verdict == "change" for layer in layers):
        prompt = layers[0]
        reason = "Nothing asks for more, and it is the cheapest to try and to take back."
        layers[0] = Layer("prompt", "change", [*prompt.for_it, reason], prompt.against)
    order = ("change", "perhaps", "leave")
    return sorted(layers, key=lambda layer: order.index(layer.verdict))


def _layer(name: str, answers: Mapping[str, str]) -> Layer:
    found = [
        (weight, reason)
        for question in QUESTIONS
        for layer, weight, reason in REASONS.get((question.name, answers.get(question.name, "")), ())
        if layer == name
    ]
    total = sum(weight for weight, _ in found)
    verdict = "change" if total >= 2 else "perhaps" if total == 1 else "leave"
    for_it = [reason for weight, reason in found if weight > 0]
    against = [reason for weight, reason in found if weight < 0]
    return Layer(name, verdict, for_it, against)
