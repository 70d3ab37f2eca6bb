"""Markdown to safe HTML: CommonMark and tables, `$latex$` and `$$latex$$` as MathML, everything sanitised at the end."""

from __future__ import annotations

import re

import nh3
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict


def _words(text: str) -> set[str]:
    return set(text.split())


MATH_TAGS = _words(
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd "
    "mstyle mpadded mphantom menclose"
)
TEXT_TAGS = _words(
    "a blockquote br code del div em h2 h3 h4 h5 h6 hr li ol p pre s strong sub sup table tbody td th thead tr ul"
)
MATH_ATTRIBUTES = _words(
    "display mathvariant stretchy fence separator form lspace rspace minsize maxsize accent accentunder linethickness "
    "columnalign displaystyle scriptlevel width height depth class"
)
ATTRIBUTES = dict.fromkeys(MATH_TAGS, MATH_ATTRIBUTES) | {
    "a": {"href", "title"},
    "ol": {"start"},
    "div": {"class"},
    "table": {"class"},
    "td": {"class"},
    "th": {"class", "scope"},
    "code": {"class"},
}
# Inside single dollars no space may touch them, and no digit may follow: amounts of money are no formulas.
FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$(?![\s$])([^$\n]*)(?<![\s\\$])\$(?![\d$])")
LONGEST_FORMULA = 40  # lines; more without an end are text
WORD = re.compile(r"<mi>([^<&]{2,})</mi>")


def to_html(text: str, *, heading: int = 3) -> str:
    """HTML of Markdown `text`; its topmost heading becomes `<h{heading}>`. Raw HTML in it is shown as text."""
    return clean(_parser().render(text, {"heading": heading}))


def clean(html: str) -> str:
    """Only the tags and attributes that prose needs; links keep http, https, mailto and relative addresses."""
    return nh3.clean(
        html,
        tags=TEXT_TAGS | MATH_TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener nofollow",
    )


def to_mathml(latex: str, *, display: bool = False) -> str:
    """MathML of a formula; a formula that can't be read is shown as code, never as an error."""
    try:
        mathml = convert(latex, display="block" if display else "inline")
    except Exception:  # latex2mathml raises many unrelated types on bad input
        return f"<code>{nh3.clean_text(latex)}</code>"
    return WORD.sub(r'<mi class="word">\1</mi>', mathml)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "typographer": True})
    parser.enable(["table", "strikethrough", "smartquotes"])
    parser.inline.ruler.before("escape", "math", _inline_math)
    parser.block.ruler.before("fence", "math", _block_math, {"alt": ["paragraph", "list", "blockquote"]})
    parser.core.ruler.push("headings", _move_headings)
    parser.add_render_rule("math_inline", _render_inline)
    parser.add_render_rule("math_block", _render_block)
    parser.add_render_rule("table_open", _render_table_open)
    parser.add_render_rule("table_close", _render_table_close)
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _render_cell)
    return parser


def _inline_math(state: StateInline, silent: bool) -> bool:
    """`$$…$$` or `$…$` inside a line. Prices stay text: `$5 to $10` opens no formula."""
    found = FORMULA.match(state.src, state.pos)
    formula = (found[1] or found[2]).strip() if found else ""
    if found is None or not formula:
        return False
    if not silent:
        state.push("math_inline", "math", 0).content = formula
    state.pos = found.end()
    return True


def _block_math(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`$$…$$` that begins a line and ends one, over one or more lines."""
    lines = [_line(state, start)]
    if not lines[0].startswith("$$"):
        return False
    while not (lines[-1].rstrip().endswith("$$") and len("\n".join(lines[:2]).strip()) > 4):
        line = start + len(lines)
        if line >= end or len(lines) == LONGEST_FORMULA or state.isEmpty(line):
            return False
        lines.append(_line(state, line))
    text = "\n".join(lines)
    formula = text.strip()[2:-2].strip()
    if not formula or "$$" in formula:
        return False
    if not silent:
        token = state.push("math_block", "math", 0)
        token.block, token.content, token.map = True, formula, [start, start + len(lines)]
        state.line = start + len(lines)
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _move_headings(state: StateCore) -> None:
    """Shift headings so that the topmost has the level that the page asks for."""
    headings = [token for token in state.tokens if token.type in ("heading_open", "heading_close")]
    top = min((int(token.tag[1]) for token in headings), default=1)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) - top + state.env.get('heading', 3))}"


def _render_inline(
    self: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return to_mathml(tokens[index].content)


def _render_block(
    self: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return f'<div class="math-block">{to_mathml(tokens[index].content, display=True)}</div>\n'


def _render_table_open(
    self: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return '<div class="table-scroll"><table class="data">\n'


def _render_table_close(
    self: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return "</table></div>\n"


def _render_cell(
    self: RendererHTML, tokens: list[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """A right-aligned column holds numbers: it gets the class, since a style attribute is not allowed."""
    number = "right" in str(tokens[index].attrGet("style") or "")
    tag = tokens[index].tag
    return f'<{tag} class="num">' if number else f"<{tag}>"
