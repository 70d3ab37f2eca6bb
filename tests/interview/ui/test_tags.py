"""Template tags: prose is sanitised, formulas become MathML, numbers are grouped."""

from __future__ import annotations

import re
import time

import pytest
from django.template import Context, Template
from django.template.exceptions import TemplateSyntaxError
from hypothesis import given
from hypothesis import strategies as st

from interview.ui import icons, prose
from interview.ui.templatetags import ui


def render(source: str, **context: object) -> str:
    return Template("{% load ui %}" + source).render(Context(context))


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[go](javascript:alert(1))",
        "[go](data:text/html;base64,PHNjcmlwdD4=)",
        "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
        "$$\\text{<script>alert(1)</script>}$$",
        "$$<img src=x onerror=alert(1)>$$",
        "$$\\href{javascript:alert(1)}{x}$$",
        "`<script>`\n\n    <script>",
        "| a |\n|--|\n| <b onclick=x>b</b> |",
    ],
)
def test_markdown_lets_nothing_active_through(hostile: str) -> None:
    tags = re.findall(r"<[^>]*>", render("{{ text|markdown }}", text=hostile))
    for tag in tags:
        assert not re.match(r"</?(script|style|img|iframe|object|form)\b", tag)
        assert not re.search(r"\son\w+\s*=|style\s*=|javascript:|data:text", tag)


@given(st.text(max_size=200))
def test_markdown_renders_any_text(text: str) -> None:
    html = prose.to_html(text)
    assert "<script" not in html
    assert "\x00" not in html


def test_hostile_lengths_stay_quick() -> None:
    began = time.perf_counter()
    for part in ("$$ ", "$$a\n", "$$" + " " * 20_000, "$a ", "[" * 200, "> " * 200, "*a " * 3_000):
        prose.to_html((part * (20_000 // len(part) + 1))[:20_000])
    assert time.perf_counter() - began < 10


def test_markdown_keeps_structure() -> None:
    html = render(
        "{{ text|markdown }}", text="## Cost\n\nA *cache* of `n` [bytes](/topics/kv-cache/).\n\n- one\n- two"
    )
    assert "<h3>Cost</h3>" in html
    assert "<em>cache</em>" in html and "<code>n</code>" in html
    assert 'href="/topics/kv-cache/"' in html
    assert html.count("<li>") == 2


def test_headings_start_at_the_level_asked_for() -> None:
    assert render("{{ text|markdown:2 }}", text="# A\n\n## B") == "<h2>A</h2>\n<h3>B</h3>\n"
    assert "<h6>D</h6>" in render("{{ text|markdown:5 }}", text="# A\n\n## B\n\n### C\n\n#### D")


def test_table_columns_of_numbers_get_a_class_not_a_style() -> None:
    html = render("{{ text|markdown }}", text="| model | GB |\n|---|--:|\n| a | 1.5 |")
    assert '<td class="num">1.5</td>' in html
    assert '<div class="table-scroll"><table class="data">' in html
    assert "style" not in html


def test_formula_alone_is_displayed_and_formula_in_a_line_is_not() -> None:
    assert 'display="block"' in render("{{ text|markdown }}", text="Before\n\n$$2 L n_{kv} d_h$$\n\nafter")
    inline = render("{{ text|markdown }}", text="The head size $$d_h$$ is 128.")
    assert 'display="inline"' in inline and "<p>The head size <math" in inline


def test_formula_over_lines_is_one_formula() -> None:
    html = render("{{ text|markdown }}", text="Text:\n$$\na\n= b \\cdot c\n$$\nmore")
    assert html.count("<math") == 1 and "<h2>" not in html and "<h3>" not in html


def test_formula_keeps_its_backslashes_and_stars() -> None:
    html = render("{{ text|markdown }}", text="$$a_1 * b_1 * c \\\\ \\frac{1}{2}$$ and $$x_1 * y_1$$")
    assert "<mfrac>" in html and "<em>" not in html


def test_one_dollar_makes_a_formula_in_the_line() -> None:
    html = render("{{ text|markdown }}", text="Here $T$ is the length and $n_{kv}$ the heads.")
    assert html.count("<math") == 2 and "$" not in html


@pytest.mark.parametrize("text", ["from $5 to $10", "$5-$10", "a $ b $ c", "US$ 3 and $4.", "$ 5$"])
def test_money_is_no_formula(text: str) -> None:
    html = render("{{ text|markdown }}", text=text)
    assert "<math" not in html and html.count("$") == text.count("$")


def test_names_of_several_letters_are_upright() -> None:
    assert '<mi class="word">log</mi>' in render("{{ latex|math }}", latex="\\log p")


def test_unreadable_formula_is_shown_as_code() -> None:
    html = render("{{ latex|math }}", latex="\\frac{1}{")
    assert html.startswith(("<code>", "<math"))
    assert "Error" not in html


def test_two_dollars_alone_are_text() -> None:
    assert "$$" in render("{{ text|markdown }}", text="It costs $$ and more")


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (16_777_216, "16\u202f777\u202f216"),
        (999, "999"),
        (-12_345.5, "-12\u202f345.5"),
        (None, ""),
        ("n/a", "n/a"),
    ],
)
def test_grouped(number: object, shown: str) -> None:
    assert render("{{ n|grouped }}", n=number) == shown


@pytest.mark.parametrize(
    ("n_bytes", "gb", "gib"),
    [
        (19_327_352_832, "19.33\u00a0GB", "18.00\u00a0GiB"),
        (1_610_612_736, "1.611\u00a0GB", "1.500\u00a0GiB"),
        (0, "0\u00a0GB", "0\u00a0GiB"),
        (1_340_000_000_000, "1\u202f340.0\u00a0GB", "1\u202f248.0\u00a0GiB"),
    ],
)
def test_bytes_are_shown_in_both_units(n_bytes: int, gb: str, gib: str) -> None:
    assert render("{{ n|gb }}|{{ n|gib }}", n=n_bytes) == f"{gb}|{gib}"


@pytest.mark.parametrize(
    ("p", "level"), [(0.0, "p1"), (0.05, "p2"), (0.2, "p3"), (0.5, "p4"), (0.8, "p5"), (1.0, "p5")]
)
def test_probability_level(p: float, level: str) -> None:
    assert ui.plevel(p) == level


def test_icon_is_hidden_unless_it_is_named() -> None:
    assert 'aria-hidden="true"' in render('{% icon "met" %}')
    named = render('{% icon "met" label="2 < 3" %}')
    assert 'role="img" aria-label="2 &lt; 3"' in named and "aria-hidden" not in named


def test_unknown_icon_names_the_known_ones() -> None:
    with pytest.raises((KeyError, TemplateSyntaxError), match="contradicted"):
        icons.svg("nothing")


@pytest.mark.parametrize(
    ("text", "n_formulas"),
    [
        ("With $n$ tokens, $n^2$ scores", 2),
        ("It costs $5 and $10 a month", 0),
        ("US$5 or $x$", 1),
        ("only $3", 0),
    ],
)
def test_single_dollars_are_formulas_and_prices_stay_prices(text: str, n_formulas: int) -> None:
    assert prose.to_html(text).count("<math") == n_formulas


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0.0 %"),
        (0.0004, "< 0.1 %"),
        (0.413, "41.3 %"),
        (0.9994, "99.9 %"),
        (0.99999, "> 99.9 %"),
        (1.0, "100.0 %"),
        (None, ""),
    ],
)
def test_a_share_is_never_rounded_to_nothing_or_all(share: float | None, shown: str) -> None:
    assert ui.percent(share).replace("\u00a0", " ") == shown
