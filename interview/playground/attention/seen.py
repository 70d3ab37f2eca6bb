"""A layer's weights as the page shows them: a picture, the row of one token, what the whole matrix costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from interview.calculators.formulas.attention_flops import Scored
from interview.calculators.formulas.result import Chart, Series
from interview.calculators.svg import svg
from interview.runs.models import Run

CELL, LEFT, TOP = 20, 104, 84
LEVELS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75)
HATCH = (
    '<defs><pattern id="mask-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="grid" y2="6"/></pattern></defs>'
)
AVERAGE = "avg"
LONGEST_LABEL = 11


@dataclass(frozen=True)
class Key:
    """A position that a token reads from."""

    position: int
    text: str
    weight: float
    level: int


@dataclass(frozen=True)
class Cost:
    """The n x n matrix in numbers, here and at the model's full window."""

    tokens: int
    pairs: int
    maps: int
    scores: int
    score_bytes: int
    flops: int


@dataclass(frozen=True)
class Seen:
    """One head of the layer, and the token whose row is read."""

    head: int | None
    token: int
    heads: int
    picture: str
    keys: list[Key]
    ordered: list[Key]
    costs: list[Cost]
    norms: list[float]
    norm_picture: str
    on_first: float
    matrix: list[tuple[str, list[str]]]

    @property
    def reader(self) -> str:
        """The token whose row is read."""
        return self.keys[-1].text


def head_of(output: dict[str, Any], given: str | None) -> int | None:
    """The head that `?head=` names; the average for anything else."""
    heads = len(output["maps"]) - 1
    return int(given) if given and given.isdecimal() and len(given) < 4 and int(given) < heads else None


def token_of(output: dict[str, Any], given: str | None) -> int:
    """The position that `?token=` names; the last for anything else."""
    count = len(output["tokens"])
    return int(given) if given and given.isdecimal() and len(given) < 4 and int(given) < count else count - 1


def shown(run: Run, given: Mapping[str, str], address: str) -> tuple[str, dict[str, Any]]:
    """The map for whoever has the link: every head and row, by links that stay on `address`."""
    output, at = run.output or {}, f"{address}?shared"
    found = seen(output, head_of(output, given.get("head")), token_of(output, given.get("token")), at)
    return "playground/_attention_map.html", {"seen": found, "at": at}


def seen(output: dict[str, Any], head: int | None, token: int, address: str) -> Seen:
    """Everything the page needs."""
    weights = output["maps"][0 if head is None else head + 1]
    texts = [text for _, text in output["tokens"]]
    keys = [Key(i, texts[i], w, level(w)) for i, w in enumerate(weights[token])]
    norms = [row[token] for row in output["norms"]]
    return Seen(
        head=head,
        token=token,
        heads=len(output["maps"]) - 1,
        picture=picture(weights, texts, token, f"{address}&head={AVERAGE if head is None else head}"),
        keys=keys,
        ordered=sorted(keys, key=lambda key: -key.weight),
        costs=[cost(output["shape"], n) for n in (len(texts), 1024, output["shape"]["context_length"])],
        norms=norms,
        norm_picture=_norm_picture(norms),
        on_first=sum(row[0] for row in weights[1:]) / max(1, len(weights) - 1),
        matrix=[(text, _cells(row, len(texts))) for text, row in zip(texts, weights, strict=True)],
    )


def _cells(row: list[float], n: int) -> list[str]:
    return [f"{100 * w:.1f}" for w in row] + ["masked"] * (n - len(row))


def level(weight: float) -> int:
    """How strongly a weight is drawn, 0 to 7."""
    return sum(weight >= bound for bound in LEVELS)


def cost(shape: dict[str, int], n: int) -> Cost:
    """Scores of one prompt over all heads and layers, causal, by the attention calculator's own counting."""
    part = Scored(shape["n_layers"], shape["n_heads"], 2 * shape["head_dim"], None, False)
    pairs, maps = part.pairs(n, "causal"), shape["n_layers"] * shape["n_heads"]
    return Cost(n, pairs, maps, pairs * maps, n * n * maps * 2, part.flops(pairs))


def label(text: str) -> str:
    """A token beside the picture: spaces to be seen, cut when long."""
    shown = text.replace(" ", "·").replace("\n", "⏎").replace("\t", "⇥")
    return escape(shown if len(shown) <= LONGEST_LABEL else shown[: LONGEST_LABEL - 1] + "…")


def picture(weights: list[list[float]], texts: list[str], token: int, address: str) -> str:
    """Rows read from columns; each row is a link, and what the mask hides is hatched."""
    n = len(texts)
    width, height = LEFT + n * CELL + 2, TOP + n * CELL + 2
    columns = "".join(
        f'<text class="tick{" is-now" if i == token else ""}" transform="translate({LEFT + i * CELL + 14} {TOP - 6}) rotate(-55)">{label(t)}</text>'
        for i, t in enumerate(texts)
    )
    rows = "".join(_row(weights[i], texts, i, token, address) for i in range(n))
    hidden = f"M{LEFT} {TOP}H{LEFT + n * CELL}V{TOP + n * CELL}" + "".join(
        f"V{TOP + i * CELL + CELL}H{LEFT + i * CELL + CELL}V{TOP + i * CELL}" for i in reversed(range(n))
    )
    return (
        f'<svg class="chart attention-map" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="group" '
        f'aria-label="Attention weights: rows read from columns; a position after its own is masked">'
        f"{HATCH}"
        f'<path class="masked" d="{hidden}Z"/>{columns}{rows}</svg>'
    )


def _row(row: list[float], texts: list[str], i: int, token: int, address: str) -> str:
    y = TOP + i * CELL
    cells = "".join(
        f'<rect class="cell w{level(w)}" x="{LEFT + j * CELL}" y="{y}" width="{CELL - 1}" height="{CELL - 1}">'
        f"<title>{label(texts[i])} takes {100 * w:.1f}% from {label(texts[j])}</title></rect>"
        for j, w in enumerate(row)
    )
    now = " is-now" if i == token else ""
    frame = f'<rect class="row-frame" x="1" y="{y - 1}" width="{LEFT + len(row) * CELL - 1}" height="{CELL + 1}"/>'
    return (
        f'<a class="row{now}" href="{escape(address)}&amp;token={i}" aria-label="position {i}, {label(texts[i])}"'
        f"{' aria-current=' + chr(34) + 'true' + chr(34) if now else ''}>{frame}"
        f'<text class="tick" x="{LEFT - 6}" y="{y + 14}" text-anchor="end">{label(texts[i])}</text>{cells}</a>'
    )


def _norm_picture(norms: list[float]) -> str:
    points = tuple((float(layer), norm) for layer, norm in enumerate(norms))
    chart = Chart(
        "line",
        "Length of this position's vector, layer by layer",
        "layers",
        "length",
        (Series("length", points),),
    )
    return svg(chart, 2)
