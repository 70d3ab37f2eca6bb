"""Drawings of the mechanism: from text to the next token, and what a server keeps."""

from __future__ import annotations

import math

from interview.questions.drawings.shapes import WIDTH, Drawing, arrow, bar, box, grid, line, path, row, text


def next_token() -> Drawing:
    body = row(["text|so far", "model", "score per|token", "one token"], 16, 52, kinds={3: "is-on"})
    body += path(f"M{WIDTH - 58} 72V112H58V78") + arrow(58, 96, 58, 72)
    body += text(WIDTH / 2, 132, "append it, go round again", middle=True)
    return Drawing(
        body,
        142,
        "The loop: the text so far goes in, a score for every token comes out, one is chosen and appended.",
    )


def tokens() -> Drawing:
    steps = [["l", "o", "w", "e", "r"], ["lo", "w", "e", "r"], ["low", "e", "r"], ["low", "er"]]
    body = ""
    for i, pieces in enumerate(steps):
        x = 0.0
        for piece in pieces:
            w = 30 + 16 * (len(piece) - 1)
            body += box(x, 4 + i * 38, w, 30, piece, kind="is-on" if len(piece) > 1 else "")
            x += w + 6
    for i, rule in enumerate(("letters", "l + o → lo", "lo + w → low", "e + r → er")):
        body += text(WIDTH, 24 + i * 38, rule, end=True)
    return Drawing(
        body,
        158,
        "Byte-pair encoding: each learnt merge joins one neighbouring pair; “lower” ends as two tokens.",
    )


def embeddings() -> Drawing:
    body = box(0, 60, 90, 40, "ID 7") + arrow(94, 80, 138, 80)
    for i in range(6):
        body += box(144, 4 + i * 26, 170, 22, f"row {i + 4}", kind="is-on" if i == 3 else "")
    body += arrow(318, 92, 372, 92)
    values = (0.7, -0.4, 0.2, 0.9, -0.8, 0.1, 0.5, -0.2)
    for i, value in enumerate(values):
        top = 92 - max(value, 0) * 60
        body += bar(384 + i * 22, top + abs(value) * 60, 16, abs(value) * 60, now=True)
    body += (
        path("M380 92H556", "axis")
        + text(468, 164, "a vector", middle=True)
        + text(229, 176, "table", middle=True)
    )
    return Drawing(
        body,
        184,
        "A token's ID picks one row of the embedding table; that row is the vector the layers work on.",
    )


def positions() -> Drawing:
    body, angles = "", [0, 35, 70, 105]
    for i, angle in enumerate(angles):
        x, y, r = 70 + i * 140, 80, 52
        rad = math.radians(angle)
        body += f'<circle class="ring" cx="{x}" cy="{y}" r="{r}"/>'
        body += arrow(x, y, x + r * math.cos(rad), y - r * math.sin(rad), kind="is-now")
        body += text(x, 154, f"position {i}", middle=True)
    rows = tuple((str(i), f"{angle}°", "" if i == 0 else "35°") for i, angle in enumerate(angles))
    caption = "RoPE turns a pair of coordinates by an angle that grows with the position, so the angle between two tokens tells their distance."
    return Drawing(body, 164, caption, ("Position", "Angle", "To the one before"), rows)


def attention() -> Drawing:
    words, cell = ["the", "cache", "grows", "with", "it"], 30
    body = grid(96, 26, 5, cell, lambda i, j: j <= i)
    for i, word in enumerate(words):
        body += text(88, 46 + i * cell, word, end=True) + text(110 + i * cell, 18, str(i + 1), middle=True)
    body += text(290, 70, "reads: every token") + text(290, 90, "up to its own")
    body += text(290, 124, "15 of 25 pairs") + text(290, 144, "n(n + 1) / 2")
    return Drawing(
        body,
        184,
        "The causal mask: a token (row) reads the tokens up to itself (columns); of 5 × 5 pairs 15 remain.",
    )


def blocks() -> Drawing:
    body = path("M0 120H556") + arrow(520, 120, 556, 120)
    for x, word in ((60, "attention"), (310, "MLP")):
        body += path(f"M{x} 120V88") + box(x - 30, 60, 60, 28, "norm") + arrow(x + 32, 74, x + 58, 74)
        body += box(x + 60, 54, 100, 40, word, kind="is-on") + path(f"M{x + 160} 74H{x + 184}")
        body += arrow(x + 184, 74, x + 184, 108)
        body += f'<circle class="box" cx="{x + 184}" cy="120" r="12"/>' + text(x + 184, 125, "+", middle=True)
    body += text(0, 148, "residual stream")
    return Drawing(
        body,
        156,
        "A block adds two corrections to the residual stream: attention, then an MLP, each behind its own norm.",
    )


def architectures() -> Drawing:
    kinds = (
        ("encoder", lambda i, j: True),
        ("decoder", lambda i, j: j <= i),
        ("encoder-decoder", lambda i, j: j < 3 or j <= i),
    )
    body = ""
    for k, (name, seen) in enumerate(kinds):
        x = 30 + k * 190
        body += grid(x, 8, 6, 20, seen) + text(x + 60, 150, name, middle=True)
    return Drawing(
        body,
        160,
        "What a token may read: everything (encoder), what came before (decoder), or the whole input and what came before (both).",
    )


def training() -> Drawing:
    body = row(["pretrain", "instruct", "prefer", "verify"], 14, 48, kinds={0: "is-on"}, gap=26)
    for i, words in enumerate(("next token", "examples", "comparisons", "checked by|a program")):
        for j, part in enumerate(words.split("|")):
            body += text(i * (WIDTH + 26) / 4 + 60, 86 + j * 18, part, middle=True)
    return Drawing(
        body,
        112,
        "Four stages and what each learns from: text, example answers, comparisons of answers, results a program can check.",
    )


def softmax(logits: list[float], temperature: float) -> list[float]:
    """Probabilities of logits at a temperature."""
    powers = [math.exp(value / temperature) for value in logits]
    return [power / sum(powers) for power in powers]


def sampling() -> Drawing:
    logits, body, rows = [2.0, 1.5, 0.5, 0.0, -1.0], "", []
    for k, temperature in enumerate((0.5, 1.0, 2.0)):
        x = 20 + k * 190
        shares = softmax(logits, temperature)
        body += "".join(bar(x + i * 28, 120, 22, share * 110, now=i == 0) for i, share in enumerate(shares))
        body += path(f"M{x} 120H{x + 136}", "axis") + text(x + 68, 142, f"T = {temperature:g}", middle=True)
        rows.append((f"{temperature:g}", *(f"{share:.3f}" for share in shares)))
    head = ("Temperature", *(f"logit {value:g}" for value in logits))
    caption = (
        "The same five logits at three temperatures: low sharpens, high flattens, the order never changes."
    )
    return Drawing(body, 150, caption, head, tuple(rows))


def context_window() -> Drawing:
    parts = (("system", 600), ("tools", 900), ("history", 2_600), ("documents", 2_900), ("answer", 1_000))
    x, body = 0.0, ""
    for i, (name, size) in enumerate(parts):
        w = WIDTH * size / 8_000
        body += box(x, 30, w - 3, 44, "", kind="is-on" if name == "answer" else "")
        body += text(x + w / 2, 20 if i % 2 == 0 else 96, name, middle=True)
        x += w
    rows = tuple((name, f"{size:,}") for name, size in parts)
    caption = (
        "One budget of an 8,000-token window: the answer's room is reserved first, the rest is shared out."
    )
    return Drawing(body, 106, caption, ("Part", "Tokens"), (*rows, ("all", "8,000")))


def kv_cache() -> Drawing:
    lengths = [0, 2_000, 4_000, 6_000, 8_000]
    linear = [(20 + 250 * t / 8_000, 150 - 130 * t / 8_000) for t in lengths]
    square = [(310 + 240 * t / 8_000, 150 - 130 * (t / 8_000) ** 2) for t in range(0, 8_001, 500)]
    body = (
        path("M20 10V150H270", "axis")
        + line(linear)
        + path("M310 10V150H550", "axis")
        + line(square, "line-2")
    )
    body += text(145, 172, "cache, with tokens", middle=True) + text(
        430, 172, "score pairs in prefill", middle=True
    )
    rows = tuple((f"{t:,}", f"{t / 8_000:.2f}", f"{(t / 8_000) ** 2:.2f}") for t in lengths)
    caption = (
        "Twice the tokens: twice the cache, four times the score pairs (both as shares of 8,000 tokens)."
    )
    return Drawing(body, 182, caption, ("Tokens", "Cache", "Score pairs"), rows)


def serving() -> Drawing:
    body = box(0, 30, 200, 40, "prefill", kind="is-on")
    body += "".join(box(206 + i * 58, 30, 50, 40, "") for i in range(6))
    body += path("M0 84H200") + path("M206 84H256") + text(100, 106, "time to first token", middle=True)
    body += text(380, 106, "one step a token", middle=True) + text(380, 20, "decode", middle=True)
    return Drawing(
        body,
        116,
        "Prefill reads the whole prompt at once and sets the time to first token; decode then takes one step for each token.",
    )


DRAWINGS = {
    "next-token": next_token,
    "tokens": tokens,
    "embeddings": embeddings,
    "positions": positions,
    "attention": attention,
    "blocks": blocks,
    "architectures": architectures,
    "training": training,
    "sampling": sampling,
    "context-window": context_window,
    "kv-cache": kv_cache,
    "serving": serving,
}
