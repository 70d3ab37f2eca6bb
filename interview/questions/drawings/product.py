"""Drawings of the product around the model: guarantees, money, measurement, people."""

from __future__ import annotations

import math

from interview.questions.drawings.shapes import WIDTH, Drawing, arrow, bar, box, line, path, row, text


def reproducibility() -> Drawing:
    left, right = (0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3)
    body = row(
        ["order of|the sum", "last bits|of a score", "another|token", "another|text"],
        14,
        52,
        kinds={0: "is-on"},
    )
    body += text(WIDTH / 2, 98, f"(0.1 + 0.2) + 0.3 = {left!r}", middle=True)
    body += text(WIDTH / 2, 120, f"0.1 + (0.2 + 0.3) = {right!r}", middle=True)
    rows = (("(0.1 + 0.2) + 0.3", repr(left)), ("0.1 + (0.2 + 0.3)", repr(right)))
    caption = "Another batch adds in another order; where two scores are nearly equal, the last bits decide the token even at temperature 0."
    return Drawing(body, 130, caption, ("Sum", "In float64"), rows)


def structured_output() -> Drawing:
    body = ""
    for i, (word, allowed) in enumerate(
        (("{", True), ("Sure", False), ('"id"', False), ("[", False), ("The", False))
    ):
        body += box(i * 113, 40, 104, 40, word, kind="is-on" if allowed else "is-off")
        body += text(i * 113 + 52, 102, "allowed" if allowed else "masked", middle=True)
    body += text(0, 22, "schema: an object begins here")
    return Drawing(
        body,
        114,
        "Constrained decoding masks every token the grammar doesn't allow at this place; the model chooses among the rest.",
    )


def hallucination() -> Drawing:
    body = (
        box(0, 60, 120, 48, "claim")
        + arrow(124, 84, 166, 84)
        + box(170, 54, 150, 60, "does a passage|support it?", kind="is-on")
    )
    body += arrow(324, 72, 396, 34) + arrow(324, 96, 396, 134)
    body += box(400, 10, 156, 44, "say it, cite it") + box(400, 114, 156, 44, "“not found”")
    body += text(352, 44, "yes", middle=True) + text(352, 134, "no", middle=True)
    return Drawing(
        body,
        166,
        "A grounded answer makes each claim earn its place: a passage supports it, or the answer says that nothing was found.",
    )


def prompt_injection() -> Drawing:
    body = box(0, 10, 130, 44, "your rules") + box(0, 94, 130, 44, "a web page", kind="is-off")
    body += arrow(134, 32, 186, 66) + arrow(134, 116, 186, 84) + box(190, 50, 110, 48, "model")
    body += (
        arrow(304, 74, 346, 74)
        + box(350, 44, 110, 60, "checks|in code", kind="is-on")
        + arrow(464, 74, 500, 74)
    )
    body += box(504, 52, 52, 44, "act")
    return Drawing(
        body,
        148,
        "Rules and foreign text reach the model as one stream of tokens; authority therefore lives in code after it.",
    )


def choosing_a_layer() -> Drawing:
    pairs = (
        ("style, format", "prompt"),
        ("facts", "retrieval"),
        ("actions", "tools"),
        ("manner", "fine-tuning"),
    )
    body = ""
    for i, (need, layer) in enumerate(pairs):
        x = i * 143
        body += text(x + 62, 20, need, middle=True) + arrow(x + 62, 28, x + 62, 56)
        body += box(x, 60, 126, 44, layer, kind="is-on" if i == 0 else "")
    return Drawing(
        body,
        112,
        "What must change decides the layer: a prompt for format and describable style, retrieval for facts, tools for actions, tuning for a manner only examples show.",
    )


def mixture_of_experts() -> Drawing:
    body = box(0, 62, 84, 44, "token") + arrow(88, 84, 126, 84) + box(130, 62, 90, 44, "router", kind="is-on")
    for i in range(8):
        chosen = i in (2, 5)
        body += box(330, 2 + i * 22, 110, 19, f"expert {i + 1}", kind="is-on" if chosen else "")
        if chosen:
            body += arrow(224, 84, 324, 12 + i * 22) + path(f"M444 {12 + i * 22}L490 84")
    body += (
        '<circle class="box" cx="504" cy="84" r="14"/>'
        + text(504, 89, "+", middle=True)
        + arrow(520, 84, 556, 84)
    )
    return Drawing(
        body,
        182,
        "A router picks two of eight experts for each token: all weights sit in memory, a quarter of the experts' work is done.",
    )


def model_choice() -> Drawing:
    models = (("small", 0.002, 0.55, 0.05), ("large", 0.020, 0.92, 0.05))
    body, rows = "", []
    for i, (name, price, success, retry) in enumerate(models):
        cost = (price + (1 - success) * retry) / success
        y = 14 + i * 66
        body += (
            text(0, y + 24, name)
            + f'<rect class="bar{" is-now" if i else ""}" x="80" y="{y}" width="{cost * 8_000:.1f}" height="36"/>'
        )
        body += text(88 + cost * 8_000, y + 24, f"${cost:.4f}")
        rows.append(
            (name, f"${price:.3f}", f"{success:.0%}", f"${(1 - success) * retry:.4f}", f"${cost:.4f}")
        )
    caption = "Cost per successful task, (call + failures × $0.05 of rework) / success rate: here the model that costs ten times as much per call is cheaper."
    head = ("Model", "Call", "Success", "Rework a call", "Per success")
    return Drawing(body, 134, caption, head, tuple(rows))


def billing() -> Drawing:
    per_turn, body, rows, total = 500, "", [], 0
    for turn in range(1, 7):
        sent = per_turn * turn
        total += sent
        x, h = (turn - 1) * 94 + 8, sent / 25
        body += bar(x, 140, 70, h) + bar(x, 140 - h + per_turn / 25, 70, per_turn / 25, now=True)
        body += text(x + 35, 160, f"turn {turn}", middle=True)
        rows.append((str(turn), f"{sent:,}", f"{sent - per_turn:,}", f"{total:,}"))
    caption = "A conversation sends its history again each turn: 500 new tokens a turn (blue) come to 10,500 input tokens after six; a prompt cache makes the grey part cheaper."
    return Drawing(body, 168, caption, ("Turn", "Input tokens", "Sent before", "Together"), tuple(rows))


def wilson(k: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a rate (Wilson 1927)."""
    z, p = 1.96, k / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return middle - half, middle + half


def evaluation() -> Drawing:
    body, rows = "", []
    for i, (name, k) in enumerate((("before", 164), ("after", 160))):
        low, high = wilson(k, 200)
        y, x1, x2, at = 34 + i * 54, (low - 0.7) * 1_750, (high - 0.7) * 1_750, (k / 200 - 0.7) * 1_750
        body += text(0, y + 5, name) + line([(90 + x1, y), (90 + x2, y)], "line" if i else "line-2")
        body += f'<circle class="now" cx="{90 + at:.1f}" cy="{y}" r="5"/>' + text(
            90 + at, y - 12, f"{k / 2:g} %", middle=True
        )
        rows.append((name, f"{k} of 200", f"{k / 2:g} %", f"{low:.1%} to {high:.1%}"))
    caption = "Two scores of 200 cases each, 2 points apart, with 95 % intervals (Wilson): they overlap, so this drop may be noise."
    return Drawing(body, 112, caption, ("Run", "Right", "Rate", "95 % interval"), tuple(rows))


def production() -> Drawing:
    body = row(["shadow", "5 %", "50 %", "all"], 14, 46, kinds={0: "is-on"})
    body += path(f"M{WIDTH - 60} 62V96H60V70") + arrow(60, 84, 60, 64)
    body += text(WIDTH / 2, 116, "a watched limit is crossed: back at once", middle=True)
    return Drawing(
        body,
        126,
        "A change meets real traffic in steps; each step has limits that are watched and a way back.",
    )


def customers() -> Drawing:
    body = row(["what it|does", "how we|know", "where it|ends", "what then"], 14, 56, kinds={1: "is-on"})
    return Drawing(
        body,
        84,
        "A claim to a customer in four parts: what the system does, the measurement behind it, its limit, and what happens when it errs.",
    )


DRAWINGS = {
    "reproducibility": reproducibility,
    "structured-output": structured_output,
    "hallucination": hallucination,
    "prompt-injection": prompt_injection,
    "choosing-a-layer": choosing_a_layer,
    "mixture-of-experts": mixture_of_experts,
    "model-choice": model_choice,
    "billing": billing,
    "evaluation": evaluation,
    "production": production,
    "customers": customers,
}
