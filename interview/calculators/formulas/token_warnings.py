"""What to watch in a text: control tokens, start tokens that stand twice, characters nobody sees, look-alikes, NFC."""

from __future__ import annotations

import unicodedata

from interview.calculators.formulas.encodings import Loaded
from interview.calculators.formulas.parameters import visible
from interview.calculators.formulas.token_stream import Tokens
from interview.calculators.formulas.token_text import invisible, look_alikes

LOOKED_AT = 100_000


def warnings_for(text: str, loaded: Loaded, found: Tokens, *, special: str) -> tuple[str, ...]:
    """Every trap that this text walks into."""
    said = [*_controls(text, loaded, special), *_starts(text, loaded, found)]
    part = text[:LOOKED_AT]
    hidden = invisible(part)
    if hidden:
        said.append(f"Characters nobody sees: {'; '.join(hidden)}.")
    mixed = look_alikes(part)
    if mixed:
        said.append(f"Letters of two scripts that look alike in: {visible(', '.join(mixed), 120)}.")
    if unicodedata.normalize("NFC", part) != part:
        said.append(
            "The text is not in NFC: Qwen normalises it first, OpenAI’s encodings do not, so the counts differ."
        )
    if "strftime_now" in loaded.template and any(found.templates):
        said.append(
            "The template writes today’s date; 1 January 2026 stands here, so that the link keeps its count."
        )
    return tuple(said)


def _controls(text: str, loaded: Loaded, special: str) -> list[str]:
    inside = [name for name in loaded.controls if name in text]
    if not inside:
        return []
    kind = "control tokens" if special == "control" else "plain text"
    return [
        f"{', '.join(inside[:6])} in the text is counted as {kind}. In a prompt built from user text it must never "
        "become control."
    ]


def _starts(text: str, loaded: Loaded, found: Tokens) -> list[str]:
    bos = loaded.controls.get(loaded.bos)
    if bos is not None and found.ids[:2] == (bos, bos):
        return [
            f"The start token {loaded.bos} stands twice: the template writes it and the tokenizer adds it. Encode a rendered "
            "chat without special tokens added."
        ]
    if text.startswith(("<s>", "<|begin_of_text|>", "<bos>", "<｜begin▁of▁sentence｜>")):
        return ["The text begins with a start token; a tokenizer that adds its own would make it two."]
    return []
