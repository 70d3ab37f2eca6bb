"""What goes out comes back: JSON, Markdown and Anki whole, CSV and GIFT what they say they keep."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import sqlite3
import time
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interview.questions.content import Content, content_from
from interview.questions.formats.anki import _plain
from interview.questions.formats.markup import plain
from interview.questions.formats.raw import FileRefused
from interview.questions.formats.registry import FORMATS, format_of
from interview.questions.importing import preview
from tests.interview.questions.own import TOPICS, full


def read(format: str, data: bytes) -> list[Content]:
    found = preview(FORMATS[format], data, topics=TOPICS, known={})
    assert not found.wrong, [row.problems for row in found.wrong]
    return found.contents


@pytest.mark.parametrize("format", ["json", "markdown", "anki"])
def test_nothing_is_lost(format: str) -> None:
    contents = [full(), full(uid="abc-2", points=[], misconceptions=[], probes=[], title="")]
    assert read(format, FORMATS[format].write(contents)) == contents


LINES = st.sampled_from(
    ["---", "## Question", "\\---", "\\## x", "id: 7", "plain", "$n$", "", "  indented", "a: b"]
)


@settings(max_examples=80, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=6).map("\n".join).filter(lambda text: text.strip()))
def test_markdown_keeps_lines_that_look_like_structure(text: str) -> None:
    content = content_from({"uid": "x", "prompt": text, "strong": text, "weak": text}, topics=TOPICS)
    assert read("markdown", FORMATS["markdown"].write([content, full()])) == [content, full()]


def test_csv_keeps_points_and_starts_no_formula() -> None:
    data = FORMATS["csv"].write([full(), full(uid="b", title="+1", strong="@x says so. It is so.")])
    assert b"\n=cmd" not in data and b",=cmd" not in data and b"'=cmd" in data and b"'+1" in data
    back = read("csv", data)[0]
    assert (back.uid, back.prompt, back.strong, back.weak) == (
        full().uid,
        full().prompt,
        full().strong,
        full().weak,
    )
    assert [(point["means"], point["weight"]) for point in back.points] == [
        ("The cache grows linearly.", 2.0),
        ("Prefill is quadratic.", 1.0),
    ]


def test_csv_reads_what_spreadsheets_write() -> None:
    rows = "\ufeffQuestion;Answer;Points\r\nWhy is it slow?;Because of memory.;Memory is read | 1,5\r\n"
    content = read("csv", rows.encode())[0]
    assert (content.prompt, content.strong, content.points[0]["weight"]) == (
        "Why is it slow?",
        "Because of memory.",
        1.5,
    )


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("question,reference\nonly one", "1 cells, and the header has 2"),
        ("question,reference,points\nWhy?,Because it is so.,x | 0", "above 0"),
        ("question,reference,misconceptions\nWhy?,Because.,no bar", "what people say | what is right"),
        ("question,reference,level\nWhy?,Because.,expert", "is none of warm-up"),
        ("question,reference\n,Because.", "the question is empty"),
    ],
)
def test_a_bad_csv_row_says_what_is_wrong(rows: str, problem: str) -> None:
    found = preview(FORMATS["csv"], rows.encode(), topics=TOPICS, known={})
    assert not found.contents
    assert problem in " ".join(found.wrong[0].problems)


def test_gift_keeps_what_it_says() -> None:
    back = read("gift", FORMATS["gift"].write([full(), full(uid="x]y", title="Two")]))
    for content, before in zip(back, [full(), full(uid="x]y", title="Two")], strict=True):
        kept = ("uid", "title", "prompt", "strong", "topic", "level")
        assert [getattr(content, name) for name in kept] == [getattr(before, name) for name in kept]


GIFT = r"""// a comment
$CATEGORY: $course$/LLM

::Cache:: How large is it? {#19.3:0.2}

What grows? {=The cache ~The weights#Weights stay the same. ~%0%Nothing}

[html]Is JSON mode a guarantee of \{your\} schema? {F####It guarantees valid JSON only.}

Explain \\frac\{a\}\{b\}. {####A fraction.}

Unescaped: is a = b? {}
"""


def test_gift_reads_moodles_kinds() -> None:
    found = preview(FORMATS["gift"], GIFT.encode(), topics=TOPICS, known={})
    number, choice, truth, essay, bare = found.rows
    assert number.content and number.content.points[0]["numbers"][0]["value"] == 19.3
    assert number.content.points[0]["numbers"][0]["tolerance"] == pytest.approx(0.2 / 19.3, abs=1e-6)
    assert choice.content and choice.content.strong == "The cache."
    assert [item["statements"] for item in choice.content.misconceptions] == [["The weights"], ["Nothing"]]
    assert choice.content.misconceptions[0]["right"] == "Weights stay the same."
    assert truth.content and truth.content.prompt == "Is JSON mode a guarantee of {your} schema?"
    assert truth.content.strong == "It guarantees valid JSON only."
    assert essay.content and essay.content.prompt == "Explain \\frac{a}{b}."
    assert bare.problems == ("strong: the reference answer is empty",)


def test_gift_refuses_matching_with_a_reason() -> None:
    found = preview(FORMATS["gift"], b"Match {=a -> b =c -> d}", topics=TOPICS, known={})
    assert "matching questions" in found.rows[0].problems[0]


def test_an_anki_note_of_somebody_else_has_front_and_back() -> None:
    import genanki

    model = genanki.Model(
        1,
        "Basic",
        fields=[{"name": "F"}, {"name": "B"}],
        templates=[{"name": "c", "qfmt": "{{F}}", "afmt": "{{B}}"}],
    )
    deck = genanki.Deck(2, "d")
    deck.add_note(
        genanki.Note(
            model=model, fields=["What is <b>top-p</b>?&nbsp;", "It keeps<br>the smallest set."], guid="g!1"
        )
    )
    out = io.BytesIO()
    genanki.Package(deck).write_to_file(out)
    content = read("anki", out.getvalue())[0]
    assert (content.uid, content.prompt, content.strong) == (
        "g!1",
        "What is top-p?",
        "It keeps\nthe smallest set.",
    )


def test_an_anki_export_is_the_same_note_every_time() -> None:
    first, again = (read("anki", FORMATS["anki"].write([full()]))[0].uid for _ in range(2))
    assert first == again == "abc-1"


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<p>Why <b>is</b> it slow?</p><p>Say <code>n</code>.</p>", "Why is it slow?\n\nSay `n`."),
        ("<ul><li>one</li><li>two</li></ul>", "- one\n- two"),
        ("a<script>alert(1)</script><style>p { color: red }</style><!-- <b> -->b", "ab"),
        ("cut<script>alert(1)", "cut"),
        (r"Is \(n^2\) right? \[x &lt; y\] [$]z[/$] [latex]w[/latex]", "Is $n^2$ right? $$x < y$$ $z$ $$w$$"),
        (r"f\( is no formula, $2 to $3 is a price", r"f\( is no formula, $2 to $3 is a price"),
        ("&lt;script&gt; stays text", "<script> stays text"),
    ],
)
def test_markup_of_others_becomes_what_a_reader_saw(markup: str, shown: str) -> None:
    assert plain(markup) == shown


def test_gift_reads_the_html_that_moodle_writes() -> None:
    text = r"""
::Cache::[html]<p>What does the <b>KV cache</b> hold?</p> {####[html]<p>Keys &amp; values.</p>}

::Code::[html]<p>Which?</p> {=<p>One \# sign</p> ~[plain]<b>#Not this.}

[markdown]Is <p> a tag? {T}

What does <s> begin? {####A sequence.}
"""
    cache, code, kept, token = preview(FORMATS["gift"], text.encode(), topics=TOPICS, known={}).rows
    assert cache.content and (cache.content.prompt, cache.content.strong) == (
        "What does the KV cache hold?",
        "Keys & values.",
    )
    assert code.content and code.content.strong == "One # sign."
    assert code.content.misconceptions[0]["statements"] == ["<b>"]
    assert kept.content and kept.content.prompt == "Is <p> a tag?"
    assert token.content and token.content.prompt == "What does <s> begin?"


def zipped(name: str, body: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr(name, body)
    return out.getvalue()


def collection(*statements: str) -> bytes:
    """An Anki package whose database was made by these statements."""
    connection = sqlite3.connect(":memory:")
    for statement in statements:
        connection.execute(statement)
    return zipped("collection.anki2", connection.serialize())


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (
            [f"CREATE VIEW notes AS {ENDLESS} SELECT x AS id, x AS guid, x AS flds, x AS tags FROM c"],
            "no table",
        ),
        (["CREATE TABLE notes (id, guid, tags, flds AS (hex(zeroblob(20000000))))"], "no table"),
        (["CREATE TABLE cards (id)"], "no table"),
        (["CREATE TABLE notes (id, guid)"], "can't be read"),
    ],
)
def test_a_collection_that_computes_its_notes_is_refused(statements: list[str], problem: str) -> None:
    with pytest.raises(FileRefused, match=problem):
        preview(FORMATS["anki"], collection(*statements), topics=TOPICS, known={})


PACKAGE = functools.cache(lambda: FORMATS["anki"].write([full()]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_package_is_refused_or_read(data: st.DataObject) -> None:
    whole = bytearray(PACKAGE())
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=8)):
        whole[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FileRefused):
        preview(FORMATS["anki"], bytes(whole), topics=TOPICS, known={})


BOMB = "".join(
    f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("markdown", f"---\na: &a [x]\n{BOMB}---\n## Question\nWhy?\n"),
        ("markdown", "---\na: &a [*a]\n---\n## Question\nWhy?\n"),
        ("json", json.dumps([{"prompt": "Why?", "strong": "So.", "points": [{"weight": 10**400}]}])),
        ("json", json.dumps([{"prompt": "Why?", "strong": "So.", "points": [{"weight": 101}]}])),
        (
            "json",
            json.dumps([{"prompt": "Why?", "strong": "So.", "points": [{"statements": ["x"] * 101}]}]),
        ),
        (
            "json",
            json.dumps([{"prompt": "Why?", "strong": "So.", "points": [{"means": "x" * 200_000}]}]),
        ),
        ("csv", f"question,reference,points\nWhy?,So.,{'x' * 9 + ' ' * 100_000}x\n"),
        ("gift", "//" + "[id:" * 500_000 + "\nWhy? {}"),
    ],
)
def test_a_row_made_to_take_for_ever_is_wrong_at_once(format: str, data: str) -> None:
    started = time.process_time()
    found = preview(FORMATS[format], data.encode(), topics=TOPICS, known={})
    assert found.wrong or format == "csv"
    assert time.process_time() - started < 3


def test_markup_made_to_take_for_ever_is_read_at_once() -> None:
    started = time.process_time()
    for part in ("<", "<!--", "<script>", "{{c1::", "[sound:", r"\(", "&", "</p ", "\n "):
        plain(part * 20_000)
        _plain(part * 20_000)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("a.json", b"[" + b"1" * 5_000 + b"]", "number is too long"),
        ("a.json", b"{", "not JSON"),
        ("a.json", b'{"format": "other", "questions": []}', "not known"),
        ("a.json", b"[" * 100_000, "not JSON"),
        ("a.json", b"[]", "no question"),
        ("a.csv", b"front,back\n1,2", "names the columns"),
        ("a.csv", b"\xff\xfe", "not UTF-8"),
        ("a.apkg", b"nothing", "not an Anki package"),
        ("a.apkg", zipped("media", b"{}"), "no Anki collection"),
        ("a.apkg", zipped("collection.anki21b", b""), "older Anki versions"),
        ("a.apkg", zipped("collection.anki2", b"junk"), "can't be read"),
        ("a.apkg", zipped("collection.anki2", bytes(60_000_000)), "50 MB"),
        ("a.pdf", b"%PDF", "format of this file is not known"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(name: str, data: bytes, problem: str) -> None:
    with pytest.raises(FileRefused, match=problem):
        preview(format_of(name, data), data, topics=TOPICS, known={})


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"prompt": "Why?", "strong": "So."}, None),
        ({"prompt": "Why?", "strong": "So.", "colour": 1}, "colour: unknown"),
        ({"prompt": ["Why?"], "strong": "So."}, "prompt: text is wanted"),
        ({"prompt": "Why?", "strong": "So.", "points": [{"id": "a"}]}, r"points[0].means"),
        ({"prompt": "Why?", "strong": "So.", "topic": "nowhere"}, "no topic"),
        ({"prompt": "Why?", "strong": "So.", "samples": ["x"]}, r"samples[0]: an object of texts"),
        ({"prompt": "Why?", "strong": "So.", "probes": [{"point": "z", "ask": "?"}]}, "no point 'z'"),
        ({"prompt": "x" * 8_001, "strong": "So."}, "8,000 is the limit"),
        ({"uid": "has space", "prompt": "Why?", "strong": "So."}, "without spaces"),
        ("text", "an object is wanted"),
    ],
)
def test_json_rows_say_where_they_are_wrong(item: object, problem: str | None) -> None:
    found = preview(FORMATS["json"], json.dumps([item]).encode(), topics=TOPICS, known={})
    assert bool(found.wrong) == (problem is not None)
    if problem:
        assert problem in " ".join(found.wrong[0].problems)


def test_one_id_twice_is_refused() -> None:
    data = FORMATS["json"].write([full(), full()])
    assert (
        "also that of question 1"
        in preview(FORMATS["json"], data, topics=TOPICS, known={}).rows[1].problems[0]
    )


def test_a_reference_without_points_gives_one_a_sentence() -> None:
    content = full(points=[], misconceptions=[], probes=[])
    assert [point["means"] for point in content.points] == [
        "The KV cache grows linearly with tokens.",
        "Prefill work grows with the square of the prompt.",
    ]
    assert [probe["point"] for probe in content.probes] == ["p1", "p2"]
