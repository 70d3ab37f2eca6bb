"""The HTML that other programs keep questions in, as the Markdown that is asked here. Every pattern takes linear time."""

from __future__ import annotations

import html
import re

UNSEEN = re.compile(r"<(script|style|head)\b|<!--", re.I)
BREAKS = (
    (re.compile(r"</(?:p|pre|h[1-6]|ul|ol|table|blockquote)\s*>", re.I), "\n\n"),
    (re.compile(r"<(?:br|/div|/tr|/li)\b[^<>]*>", re.I), "\n"),
    (re.compile(r"<li\b[^<>]*>", re.I), "- "),
    (re.compile(r"</?(?:code|tt|kbd)\b[^<>]*>", re.I), "`"),
)
TAG = re.compile(r"<[/!a-z][^<>]*>", re.I)
PROSE_TAG = re.compile(
    r"</?(?:p|br|div|span|b|i|em|strong|u|ul|ol|li|code|pre|sub|sup|img|a|table)\b[^<>]*>", re.I
)
# How others set formulas off, and how it is done here.
FORMULAS = (
    ("\\[", "\\]", "$$"),
    ("\\(", "\\)", "$"),
    ("[$$]", "[/$$]", "$$"),
    ("[$]", "[/$]", "$"),
    ("[latex]", "[/latex]", "$$"),
)
SPACES = re.compile(r"[ \t]*\n[ \t]*")
GAPS = re.compile(r"\n{3,}")


def is_markup(text: str) -> bool:
    """Does a text of unsaid format hold HTML? What stands between < and > may also be a token's name."""
    return PROSE_TAG.search(text) is not None


def plain(markup: str) -> str:
    """What a reader of the page would see; formulas stand between dollar signs, code between backticks."""
    text = _seen(markup)
    for pattern, mark in BREAKS:
        text = pattern.sub(mark, text)
    text = html.unescape(TAG.sub("", text)).replace("\xa0", " ")
    return GAPS.sub("\n\n", SPACES.sub("\n", formulas(text))).strip()


def formulas(text: str) -> str:
    """Formulas between dollar signs; marks that don't come in pairs stay as they are."""
    for opening, closing, mark in FORMULAS:
        if text.count(opening) == text.count(closing):
            text = text.replace(opening, mark).replace(closing, mark)
    return text


def _seen(markup: str) -> str:
    """Drop scripts, styles and comments, each up to its end or the end of the text."""
    kept, at = [], 0
    while found := UNSEEN.search(markup, at):
        kept.append(markup[at : found.start()])
        ending = re.compile(rf"</{found[1]}\s*>" if found[1] else "-->", re.I)
        closing = ending.search(markup, found.end())
        at = closing.end() if closing else len(markup)
    return "".join([*kept, markup[at:]])
