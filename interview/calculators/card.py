"""The preview card: 1200 x 630, the result in large type over the shape of the first chart."""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

from interview.calculators.formulas.registry import Outcome
from interview.calculators.formulas.result import Chart

SIZE = (1200, 630)
EDGE = 72
PAPER, INK, SOFT, RULE, ACCENT, WASH = "#FBFAF6", "#1B1A18", "#55524C", "#E4E0D6", "#1F5FBF", "#EAF1FC"
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@lru_cache(maxsize=16)
def font(name: str, size: int) -> Font:
    """One of the site's own fonts at this size; Pillow's where the file can't be read."""
    path = Path(settings.BASE_DIR) / "static" / "fonts" / f"{name}.woff2"
    try:
        return ImageFont.truetype(io.BytesIO(path.read_bytes()), size)
    except OSError:
        return ImageFont.load_default(size)


def png(outcome: Outcome, brief: str) -> bytes:
    """The card of a result; of the calculator's name alone where the input was refused."""
    image = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(image)
    if outcome.result and outcome.result.charts:
        _picture(draw, outcome.result.charts[0])
    draw.text((EDGE, 64), f"Prefill  ·  {outcome.calculator.title}", font=font("inter", 32), fill=SOFT)
    _headline(draw, outcome)
    for i, line in enumerate(_wrapped(draw, brief, font("inter", 30), SIZE[0] - 2 * EDGE)[:2]):
        draw.text((EDGE, 318 + 42 * i), line, font=font("inter", 30), fill=SOFT)
    buffer = io.BytesIO()
    image.quantize(64).save(buffer, "PNG")
    return buffer.getvalue()


def _headline(draw: ImageDraw.ImageDraw, outcome: Outcome) -> None:
    if not outcome.result:
        draw.text((EDGE, 130), outcome.calculator.title, font=font("prefill-serif", 96), fill=INK)
        return
    head = outcome.result.headline
    text = f"{head.value} {head.unit}".replace("\u202f", " ")
    size = 112
    while size > 40 and draw.textlength(text, font=font("prefill-mono-medium", size)) > SIZE[0] - 2 * EDGE:
        size -= 8
    draw.text((EDGE, 116), text, font=font("prefill-mono-medium", size), fill=INK)
    draw.text((EDGE, 250), head.second.replace("\u202f", " "), font=font("prefill-mono", 40), fill=SOFT)


def _wrapped(draw: ImageDraw.ImageDraw, text: str, with_font: Font, width: int) -> list[str]:
    lines: list[str] = [""]
    for word in text.replace("\u202f", " ").split():
        longer = f"{lines[-1]} {word}".strip()
        if draw.textlength(longer, font=with_font) <= width:
            lines[-1] = longer
        else:
            lines.append(word[:60])
    return lines


def _picture(draw: ImageDraw.ImageDraw, chart: Chart) -> None:
    box = (EDGE, 426, SIZE[0] - EDGE, 570)
    draw.line((box[0], box[3], box[2], box[3]), fill=RULE, width=2)
    points = chart.series[0].points if chart.series else ()
    if len(points) < 2:
        return
    if chart.kind == "line":
        _line(draw, points, box)
    elif chart.kind == "bars":
        _columns(draw, points, box)


def _line(
    draw: ImageDraw.ImageDraw, points: tuple[tuple[float, float], ...], box: tuple[int, int, int, int]
) -> None:
    left, right = points[0][0], points[-1][0]
    highest = max(p[1] for p in points) or 1.0
    at = [
        (
            box[0] + (box[2] - box[0]) * (x - left) / ((right - left) or 1.0),
            box[3] - (box[3] - box[1]) * y / highest,
        )
        for x, y in points
    ]
    draw.polygon([(box[0], box[3]), *at, (box[2], box[3])], fill=WASH)
    draw.line(at, fill=ACCENT, width=4, joint="curve")


def _columns(
    draw: ImageDraw.ImageDraw, points: tuple[tuple[float, float], ...], box: tuple[int, int, int, int]
) -> None:
    highest = max(abs(p[1]) for p in points) or 1.0
    wide = (box[2] - box[0]) / len(points)
    for i, (_, value) in enumerate(points):
        top = box[3] - (box[3] - box[1]) * abs(value) / highest
        x = box[0] + wide * i
        draw.rectangle((x, top, x + wide * 0.7, box[3]), fill=ACCENT if i == 0 else RULE)
