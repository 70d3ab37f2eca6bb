"""An own question that uses every field, for round trips and pages."""

from __future__ import annotations

from typing import Any

from interview.questions.content import Content, content_from

TOPICS = {"other", "kv-cache"}


def full(**changes: Any) -> Content:
    """A content with everything in it, awkward characters too."""
    data: dict[str, Any] = {
        "uid": "abc-1",
        "title": "Cost of {context}: why?",
        "topic": "kv-cache",
        "level": "senior",
        "prompt": "Why is it $n^2$?\n\n## Not a section\n---\n\\frac{a}{b} ~ 50% = #1: ünï",
        "strong": "The KV cache grows linearly with tokens. Prefill work grows with the square of the prompt.",
        "weak": "=cmd|' /C calc'!A0",
        "weak_wrong": "It names no cause.",
        "points": [
            {
                "id": "cache",
                "means": "The cache grows linearly.",
                "statements": [
                    "The KV cache grows linearly with tokens.",
                    "Memory rises, in step, with length.",
                ],
                "weight": 2,
                "anchors": [["cache", "memory"], ["linear, then", 'say "linear"']],
                "numbers": [
                    {"value": 19.327, "unit": "GB", "tolerance": 0.03, "of": ["cache"], "required": True}
                ],
            },
            {"id": "prefill", "means": "Prefill is quadratic.", "optional": True},
        ],
        "misconceptions": [
            {
                "id": "flat",
                "statements": ["The cache has a fixed size."],
                "right": "Every token adds keys and values.",
                "points": ["cache"],
                "penalty": 0.5,
            }
        ],
        "probes": [{"point": "cache", "ask": "What is kept for each token?"}],
        "samples": [{"label": "strong", "text": "The KV cache grows linearly with tokens."}],
        "sources": [{"title": "A paper", "url": "https://example.org/a", "note": "table 2"}],
        "calculators": [{"slug": "kv-cache", "query": "tokens=4096", "label": "4,096 tokens"}],
        "playground": [{"page": "next-token", "label": "See it"}],
    }
    return content_from({**data, **changes}, topics=TOPICS)
