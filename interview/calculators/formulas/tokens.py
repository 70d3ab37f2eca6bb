"""Tokens: ids, bytes and pieces of a text or chat, counted exactly, beside other tokenizers and the rules of thumb."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from interview.calculators.formulas.encodings import SHELF, Loaded, encoding, vocabularies
from interview.calculators.formulas.expression import tidy
from interview.calculators.formulas.parameters import choice, flag, real, refuse, text, whole
from interview.calculators.formulas.result import Headline, Piece, Result, Value, Working, program
from interview.calculators.formulas.token_files import FilesMissing
from interview.calculators.formulas.token_pictures import counts, rules_chart, rules_table, token_table
from interview.calculators.formulas.token_stream import Tokens, Wanted, stream
from interview.calculators.formulas.token_text import nfc_table, shown
from interview.calculators.formulas.token_warnings import warnings_for
from interview.calculators.formulas.units import grouped, number_text
from interview.calculators.formulas.vocabularies import CHOICES

LONGEST = 1_000_000
LONGEST_FOR_ALL = 100_000
SHOWN = 400
SAMPLE = "Tokenizers split text into pieces, not words: strawberry, 3.14159 and 👋 world."


@dataclass(frozen=True, slots=True)
class TokensInputs:
    """A text, the tokenizer that counts it, and one to compare with."""

    text: str = text(SAMPLE, "Text", longest=LONGEST, rows=8)
    encoding: str = choice("cl100k_base", "Tokenizer", CHOICES)
    compare: str = choice(
        "none",
        "Beside it",
        [("none", "none"), ("all", "all of them"), *CHOICES],
    )
    special: str = choice(
        "text",
        "Control tokens in the text",
        [("text", "as text"), ("control", "as control"), ("refuse", "refuse")],
        segmented=True,
    )
    chat: bool = flag(
        "a chat: lines begin with system:, user: or assistant:", hint="rendered by the model’s own template"
    )
    generation_prompt: bool = flag("add the start of the answer", group="Chat")
    add_bos: bool = flag("the tokenizer adds its start token", group="Chat")
    images: int = whole(0, "Images", low=0, high=10**6, group="Images")
    image_width: int = whole(1024, "Width", unit="pixels", high=10**5, group="Images")
    image_height: int = whole(1024, "Height", unit="pixels", high=10**5, group="Images")
    patch: int = whole(28, "Patch", unit="pixels", high=10**4, group="Images")
    image_cap: int = whole(16_384, "Most tokens an image", high=10**7, group="Images")
    image_factor: float = real(
        1.0,
        "Multiplier",
        unit="tokens a patch",
        high=1e4,
        group="Images",
        hint="after the cap; an image is rounded up",
    )


def tokens(inputs: TokensInputs) -> Result:
    """Exact counts. Raises InputErrors where control tokens are refused, a chat has no roles, or files are missing."""
    return _named(inputs, frozenset())


def tokens_at_once(inputs: TokensInputs) -> Result:
    """The same without tokenizers that are still to be read: those are read meanwhile, and named as pending."""
    every = vocabularies() if inputs.compare == "all" else ()
    return _named(inputs, SHELF.soon(name for name in every if name != inputs.encoding))


def _named(inputs: TokensInputs, waiting: frozenset[str]) -> Result:
    try:
        return _counted(inputs, waiting)
    except FilesMissing as missing:
        field = "compare" if inputs.encoding in vocabularies() else "encoding"
        raise refuse(field, str(missing)) from missing


def _counted(inputs: TokensInputs, waiting: frozenset[str]) -> Result:
    loaded, wanted = encoding(inputs.encoding), _wanted(inputs)
    _refuse(inputs, loaded)
    found = stream(inputs.encoding, wanted)
    working = _working(inputs, found)
    results = _results(inputs, found, working)
    total = int(results["tokens"])
    data = [loaded.spelling(i) for i in found.ids[: SHOWN * 5]]
    other = _beside(inputs, wanted)
    if other:
        results["compared_tokens"] = len(other.ids)
    return Result(
        headline=Headline(
            grouped(total),
            "tokens" if total != 1 else "token",
            f"{number_text(len(inputs.text) / max(1, len(found.ids)), 3)} characters a token",
            inputs.encoding,
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=warnings_for(inputs.text, loaded, found, special=inputs.special),
        charts=(rules_chart(results),),
        tables=(
            rules_table(results),
            *counts(inputs.compare, inputs.encoding, wanted, found, waiting),
            token_table(found, data),
            *nfc_table(inputs.text),
        ),
        program=program("Tokens: the exact count beside the rules of thumb", working, "tokens"),
        pieces=_pieces(loaded, found, _places(encoding(inputs.compare), other) if other else None),
        beside=_pieces(encoding(inputs.compare), other, _places(loaded, found)) if other else (),
        beside_label=inputs.compare if other else "",
        pending=tuple(v.title for name, v in vocabularies().items() if name in waiting),
    )


def _wanted(inputs: TokensInputs) -> Wanted:
    return Wanted(
        inputs.text, inputs.chat, inputs.special == "control", inputs.generation_prompt, inputs.add_bos
    )


def _refuse(inputs: TokensInputs, loaded: Loaded) -> None:
    inside = loaded.control_in(inputs.text)
    if inputs.special == "refuse" and inside:
        raise refuse("text", f"holds the control token {inside}: count it as text, or remove it")
    if inputs.compare == "all" and len(inputs.text) > LONGEST_FOR_ALL:
        raise refuse(
            "compare", f"all takes a text of at most {LONGEST_FOR_ALL} characters: choose one tokenizer"
        )


def _beside(inputs: TokensInputs, wanted: Wanted) -> Tokens | None:
    """The same text through the tokenizer to compare with."""
    if inputs.compare in ("none", "all", inputs.encoding):
        return None
    if inputs.chat and not encoding(inputs.compare).template:
        raise refuse("compare", f"{inputs.compare} has no chat template here: compare with another")
    return stream(inputs.compare, wanted)


def _places(loaded: Loaded, found: Tokens) -> set[tuple[int, int]]:
    """Where each of the first tokens stands, in bytes."""
    places, at = set(), 0
    for token in found.ids[: SHOWN * 2]:
        end = at + len(loaded.spelling(token))
        places.add((at, end))
        at = end
    return places


def _pieces(loaded: Loaded, found: Tokens, others: set[tuple[int, int]] | None) -> tuple[Piece, ...]:
    made, at = [], 0
    for token, control, template in zip(found.ids[:SHOWN], found.controls, found.templates, strict=False):
        data = loaded.spelling(token)
        differs = others is not None and (at, at + len(data)) not in others
        made.append(Piece(shown(data), token, control, template, differs))
        at += len(data)
    return tuple(made)


def _working(inputs: TokensInputs, found: Tokens) -> Working:
    working = Working()
    template = sum(found.templates)
    working.given(
        content_tokens=len(found.ids) - template,
        template_tokens=template,
        words=len(inputs.text.split()),
        characters=len(inputs.text),
    )
    working.given(
        images=inputs.images,
        width=inputs.image_width,
        height=inputs.image_height,
        patch=inputs.patch,
        cap=inputs.image_cap,
        factor=tidy(Fraction(repr(inputs.image_factor))),
    )
    label = "What was written, and what the template adds" if template else "Counted"
    working.step("text_tokens", label, "content_tokens + template_tokens", "tokens")
    if inputs.images:
        working.step(
            "image_tokens",
            "Image patches, at most the cap each",
            "images * ceil(factor * min(cap, ceil(width / patch) * ceil(height / patch)))",
            "tokens",
        )
        working.step("tokens", "Text and images", "text_tokens + image_tokens", "tokens")
    else:
        working.step("tokens", "All", "text_tokens + 0", "tokens")
    working.step("by_words", "Rule of thumb: words / 0.75", "words / 0.75", "tokens")
    working.step("by_characters", "Rule of thumb: characters / 4", "characters / 4", "tokens")
    return working


def _results(inputs: TokensInputs, found: Tokens, working: Working) -> dict[str, Value]:
    names = working.names
    return {
        "tokens": int(names["tokens"]),
        "text_tokens": len(found.ids),
        "content_tokens": int(names["content_tokens"]),
        "template_tokens": int(names["template_tokens"]),
        "control_tokens": sum(found.controls),
        "characters": len(inputs.text),
        "utf8_bytes": len(inputs.text.encode("utf-8", "replace")),
        "words": int(names["words"]),
        "tokens_by_words": float(names["by_words"]),
        "tokens_by_characters": float(names["by_characters"]),
    }
