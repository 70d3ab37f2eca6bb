"""Three small rubrics and their questions, for the grader's tests."""

from __future__ import annotations

from typing import Any

from engine.rubric import Rubric

LONG_QUESTION = "Why does a long context cost so much?"
LONG: dict[str, Any] = {
    "points": [
        {
            "id": "cache",
            "weight": 2,
            "means": "The KV cache grows linearly with the context.",
            "statements": [
                "The KV cache grows linearly with context length.",
                "Memory for keys and values rises in step with the number of tokens.",
                "For every token each layer keeps a key and a value, so twice the text needs twice the "
                "memory.",
                "What is stored for a sequence is proportional to its length.",
            ],
            "anchors": [
                ["kv cache", "keys and values", "key and a value", "cache"],
                [
                    "linear",
                    "linearly",
                    "proportional",
                    "in step",
                    "twice the memory",
                    "doubles",
                    "grows",
                    "per token",
                ],
            ],
        },
        {
            "id": "attention",
            "weight": 2,
            "means": "Attention compute in prefill grows quadratically.",
            "statements": [
                "Attention work in prefill grows quadratically with the prompt.",
                "Each token is scored against all earlier ones, so double the prompt means four times "
                "the scores.",
                "The number of query-key pairs rises with the square of the length.",
                "Reading the prompt is quadratic in its length.",
            ],
            "anchors": [
                ["attention", "prefill", "scores", "pairs", "reading the prompt", "compared"],
                ["quadratic", "quadratically", "square", "squared", "four times", "quadruples", "n^2"],
            ],
        },
        {
            "id": "figure",
            "weight": 1,
            "means": "For example 19.3 GB for one sequence of 4,096 tokens.",
            "statements": [
                "One sequence of 4,096 tokens takes 19.3 GB of KV cache.",
                "The cache of a single 4k request is about 18 GiB.",
                "At that size the keys and values of one conversation need nineteen gigabytes.",
                "A 4k sequence holds 19.3 GB of keys and values.",
            ],
            "anchors": [["cache", "keys and values", "kv"], ["gb", "gib", "mb", "gigabytes", "tb", "tokens"]],
            "numbers": [
                {
                    "value": 19.327,
                    "unit": "GB",
                    "tolerance": 0.02,
                    "of": ["cache", "keys", "kv"],
                    "required": True,
                }
            ],
        },
    ],
    "misconceptions": [
        {
            "id": "constant-cache",
            "statements": [
                "The KV cache has the same size whatever the length.",
                "The KV cache is tiny and doesn't matter.",
                "Long prompts need no extra memory.",
            ],
            "right": "Each token adds keys and values in every layer.",
            "points": ["cache"],
        },
        {
            "id": "quadratic-cache",
            "statements": ["The KV cache grows quadratically with the context."],
            "right": "The cache is linear; the attention work of prefill is quadratic.",
            "points": ["cache"],
        },
    ],
}
LONG_REFERENCE = (
    "The KV cache grows linearly with context length, because every layer keeps a key and a value for "
    "each token. "
    "Attention work in prefill grows quadratically with the prompt. "
    "At this size one sequence of 4,096 tokens takes 19.3 GB of KV cache."
)

SAMPLING_QUESTION = "What is the difference between temperature and top-p?"
SAMPLING: dict[str, Any] = {
    "points": [
        {
            "id": "temperature",
            "weight": 1,
            "means": "Temperature divides the logits; high values flatten the distribution.",
            "statements": [
                "Temperature divides the logits before the softmax.",
                "A higher temperature flattens the distribution and makes the output more random.",
                "With a low temperature the likely tokens take nearly all the probability.",
                "Temperature rescales every logit and so sharpens or flattens the probabilities.",
            ],
            "anchors": [
                ["temperature"],
                [
                    "logits",
                    "flattens",
                    "sharpens",
                    "random",
                    "deterministic",
                    "peaked",
                    "probability",
                    "divides",
                ],
            ],
        },
        {
            "id": "top-p",
            "weight": 1,
            "means": "Top-p keeps the smallest set of tokens whose mass reaches p.",
            "statements": [
                "Top-p keeps the smallest set of tokens whose cumulative probability reaches p.",
                "Nucleus sampling cuts the tail off once the best tokens hold the mass p.",
                "Top-p does not change the logits, it truncates the distribution.",
                "Tokens outside the nucleus can't be drawn at all.",
            ],
            "anchors": [
                ["top-p", "nucleus"],
                ["smallest set", "cumulative", "mass", "truncates", "cuts", "tail", "outside the nucleus"],
            ],
        },
    ],
    "misconceptions": [
        {
            "id": "swapped",
            "statements": [
                "Temperature keeps the smallest set of tokens with mass p.",
                "Top-p divides the logits before the softmax.",
                "Top-p rescales the logits.",
            ],
            "right": "Temperature rescales, top-p truncates.",
            "points": ["temperature", "top-p"],
        },
    ],
}

JSON_QUESTION = "What does JSON mode promise?"
JSON: dict[str, Any] = {
    "points": [
        {
            "id": "syntax",
            "weight": 1,
            "means": "JSON mode only promises syntactically valid JSON.",
            "statements": [
                "JSON mode guarantees only that the output is valid JSON, not that it follows your schema.",
                "The text will parse, but fields may be missing or have other types.",
                "It enforces the syntax of JSON and nothing about the schema.",
                "You can rely on a parser accepting it, not on your keys being there.",
            ],
            "anchors": [["json", "parse", "parser", "syntax"], ["schema", "fields", "keys", "types"]],
        },
    ],
    "misconceptions": [
        {
            "id": "schema",
            "statements": [
                "JSON mode guarantees that the output follows your schema.",
                "JSON mode enforces the schema.",
            ],
            "right": "It guarantees valid JSON only.",
            "points": ["syntax"],
        },
    ],
}


def rubric(data: dict[str, Any]) -> Rubric:
    """The rubric of plain data."""
    return Rubric.from_dict(data)
