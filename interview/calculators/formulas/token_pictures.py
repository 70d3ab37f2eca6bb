"""Pictures and tables of a token count: rules of thumb with their errors, tokenizers side by side, every token."""

from __future__ import annotations

from difflib import SequenceMatcher

from interview.calculators.formulas.encodings import encoding, ids_of, vocabularies
from interview.calculators.formulas.result import Chart, Series, Table, Value
from interview.calculators.formulas.token_stream import Tokens, Wanted, stream
from interview.calculators.formulas.token_text import shown
from interview.calculators.formulas.units import number_text
from interview.calculators.formulas.vocabularies import VOCABULARIES

DIFFED, ROWS = 2000, 200
RULES = (("words / 0.75", "tokens_by_words"), ("characters / 4", "tokens_by_characters"))


def rules_chart(results: dict[str, Value]) -> Chart:
    """The exact count, the one beside it, and the rules of thumb as bars."""
    bars = [("exact", float(results["text_tokens"]))]
    if "compared_tokens" in results:
        bars.append(("beside it", float(results["compared_tokens"])))
    bars += [(rule, float(results[name])) for rule, name in RULES]
    points = tuple((float(i), round(v, 1)) for i, (_, v) in enumerate(bars))
    return Chart(
        "bars",
        "Exact count and rules of thumb",
        "count",
        "tokens",
        (Series("tokens", points),),
        "tokens",
        labels=tuple(name for name, _ in bars),
        shown=0,
    )


def rules_table(results: dict[str, Value]) -> Table:
    """How far each rule of thumb is off."""
    exact = int(results["text_tokens"])
    rows = tuple(
        (rule, round(float(results[name]), 1), _error(float(results[name]), exact)) for rule, name in RULES
    )
    return Table("Rules of thumb", ("rule", "tokens", "error"), rows)


def _error(said: float, exact: int) -> str:
    if not exact:
        return "undefined"
    share = 100 * (said - exact) / exact
    return f"{'+' if share > 0 else ''}{number_text(round(share, 1))}%"


def token_table(found: Tokens, data: list[bytes]) -> Table:
    """Every token with its id, text and bytes."""
    rows = tuple(
        (n + 1, i, shown(d), d.hex(" "), _origin(found, n))
        for n, (i, d) in enumerate(zip(found.ids, data, strict=False))
    )
    note = f"The first {len(data)} of {len(found.ids)}." if len(data) < len(found.ids) else ""
    return Table("Tokens", ("place", "id", "text", "bytes", "from"), rows, note)


def _origin(found: Tokens, n: int) -> str:
    kind = "template" if found.templates[n] else "text"
    return f"{kind}, control" if found.controls[n] else kind


def counts(compare: str, chosen: str, wanted: Wanted, found: Tokens, waiting: frozenset[str]) -> list[Table]:
    """The same text by every tokenizer here but those waited for, or where one other splits it differently."""
    if compare == "all":
        return [_all(chosen, wanted, found, waiting)]
    if compare in ("none", chosen) or wanted.is_chat:
        return []
    return [_difference(chosen, compare, wanted)]


def _all(chosen: str, wanted: Wanted, found: Tokens, waiting: frozenset[str]) -> Table:
    rows, without = [], []
    for name, vocabulary in vocabularies().items():
        if name in waiting:
            continue
        if wanted.is_chat and not encoding(name).template:
            without.append(name)
            continue
        count = len(found.ids) if name == chosen else len(stream(name, wanted).ids)
        against = f"{100 * count / len(found.ids):.1f}%" if found.ids else ""
        rows.append((vocabulary.title, count, round(len(wanted.text) / max(1, count), 3), against))
    absent = [v.title for v in VOCABULARIES.values() if v.name not in vocabularies()]
    notes = [f"Without a chat template here: {', '.join(without)}." if without else ""]
    notes.append(
        f"Not on this machine: {', '.join(absent)} (manage.py prepare_tokenizers)." if absent else ""
    )
    columns = ("tokenizer", "tokens", "characters a token", f"of {chosen}")
    ordered = tuple(sorted(rows, key=lambda row: row[1]))
    return Table("The same text, counted by each tokenizer", columns, ordered, " ".join(filter(None, notes)))


def _difference(chosen: str, other: str, wanted: Wanted) -> Table:
    """Where two tokenizers split the text differently, by their pieces."""
    sides = []
    for name in (chosen, other):
        loaded = encoding(name)
        sides.append([loaded.spelling(i) for i in ids_of(name, wanted.text[:DIFFED], control=wanted.control)])
    rows = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, sides[0], sides[1], autojunk=False).get_opcodes():
        if kind != "equal":
            left, right = ("|".join(map(shown, side)) for side in (sides[0][a0:a1], sides[1][b0:b1]))
            rows.append((left, a1 - a0, right, b1 - b0))
    note = f"The first {DIFFED} characters." if len(wanted.text) > DIFFED else ""
    columns = (chosen, "tokens", other, "tokens there")
    return Table("Where the two differ", columns, tuple(rows[:ROWS]) or (("nowhere", 0, "nowhere", 0),), note)
