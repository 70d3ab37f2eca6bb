"""Template tags of every page: `{% load ui %}`."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.forms import BoundField, CheckboxInput, HiddenInput
from django.utils.safestring import SafeString, mark_safe

from interview.ui import icons, prose

register = template.Library()

THIN = "\u202f"  # narrow no-break space
NO_BREAK = "\u00a0"


@register.simple_tag
def icon(name: str, label: str = "", size: str = "") -> SafeString:
    """`{% icon "met" %}`: one inline icon; give a `label` where no word stands beside it."""
    return mark_safe(icons.svg(name, label=label, size=size))


@register.filter
def markdown(text: str | None, heading: int = 3) -> SafeString:
    """`{{ text|markdown }}` or `{{ text|markdown:2 }}`: sanitised HTML whose topmost heading is `<h2>`."""
    return mark_safe(prose.to_html(text or "", heading=heading))


@register.filter
def math(latex: str, mode: str = "inline") -> SafeString:
    """`{{ latex|math }}` or `{{ latex|math:"block" }}`: MathML."""
    return mark_safe(prose.clean(prose.to_mathml(latex, display=mode == "block")))


@register.filter
def grouped(number: float | int | Decimal | None) -> str:
    """`{{ 16777216|grouped }}` → 16 777 216, with narrow no-break spaces; fractions keep their digits."""
    if number is None:
        return ""
    return f"{number:,}".replace(",", THIN) if isinstance(number, (int, float, Decimal)) else str(number)


@register.filter
def gb(n_bytes: float | int | None) -> str:
    """Bytes in GB (10⁹), with the unit."""
    return "" if n_bytes is None else f"{_short(n_bytes / 10**9)}{NO_BREAK}GB"


@register.filter
def gib(n_bytes: float | int | None) -> str:
    """Bytes in GiB (2³⁰), with the unit."""
    return "" if n_bytes is None else f"{_short(n_bytes / 2**30)}{NO_BREAK}GiB"


@register.filter
def plevel(probability: float | None) -> str:
    """The class that draws a probability as underline thickness: p1 (under 0.05) … p5 (0.8 and over)."""
    if probability is None:
        return ""
    return f"p{1 + sum(probability >= bound for bound in (0.05, 0.2, 0.5, 0.8))}"


@register.filter
def percent(share: float | None) -> str:
    """A share of one as a percentage: 0.413 → 41.3 %; what rounds to nothing or to all is said to be little or nearly all."""
    if share is None:
        return ""
    if 0 < share < 0.0005:
        return f"<{NO_BREAK}0.1{NO_BREAK}%"
    if 0.9995 <= share < 1:
        return f">{NO_BREAK}99.9{NO_BREAK}%"
    return f"{share * 100:.1f}{NO_BREAK}%"


def _short(value: float) -> str:
    """About four digits, thin grouping: 0.0123, 1.611, 16.78, 1 340.0."""
    if value == 0:
        return "0"
    decimals = 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3 if abs(value) >= 0.1 else 6
    return f"{value:,.{decimals}f}".replace(",", THIN)


@register.filter
def is_check(field: BoundField) -> bool:
    """Whether a form field is one checkbox, whose label belongs after it."""
    return isinstance(field.field.widget, CheckboxInput)


@register.filter
def is_optional(field: BoundField) -> bool:
    """Whether a form field may be left empty and should say so (a checkbox always may, a default is there)."""
    said = "optional" in str(field.label).lower()
    return (
        not field.field.required
        and field.field.initial is None
        and not said
        and not isinstance(field.field.widget, (CheckboxInput, HiddenInput))
    )
