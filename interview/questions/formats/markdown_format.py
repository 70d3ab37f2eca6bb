"""Markdown: one front matter and four sections a question, as the bank's own files are written. Lossless."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml

from interview.questions.content import Content
from interview.questions.formats.raw import Raw, text_of

SECTIONS = {
    "Question": "prompt",
    "Strong answer": "strong",
    "Weak answer": "weak",
    "What is wrong with it": "weak_wrong",
}
START = re.compile(r"^---\n(?=[A-Za-z_]+:)", re.M)
END = re.compile(r"^---$", re.M)
TITLE = re.compile(r"^## (.+)$", re.M)
GUARDED = re.compile(r"^(\\*)(?=---$|## )", re.M)  # lines of a text that would read as structure
UNGUARDED = re.compile(r"^\\(?=\\*(?:---$|## ))", re.M)
RENAMED = {"id": "uid"}


class WithoutAliases(yaml.SafeLoader):
    """Plain YAML in which no name stands for another part: a few lines of them could mean millions."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("names for other parts (*name) are not read")
        return super().compose_node(parent, index)


def read(data: bytes) -> list[Raw]:
    """Every question of the file; a document without sections gives a row that says so."""
    text = text_of(data)
    starts = [found.start() for found in START.finditer(text)]
    if not starts:
        return [Raw("line 1", problem="no front matter: a question starts with '---' and keys such as title")]
    ends = [*starts[1:], len(text)]
    return [
        _raw(text[start:end], text.count("\n", 0, start) + 1) for start, end in zip(starts, ends, strict=True)
    ]


def _raw(document: str, line: int) -> Raw:
    place = f"line {line}"
    closing = END.search(document, 4)
    if closing is None:
        return Raw(place, problem="the front matter has no closing '---'")
    try:
        meta = yaml.load(document[4 : closing.start()], Loader=WithoutAliases)  # a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Raw(place, problem=f"the front matter is not YAML: {' '.join(str(error).split())[:200]}")
    if not isinstance(meta, dict):
        return Raw(place, problem="the front matter holds keys with values")
    fields: dict[str, Any] = {RENAMED.get(str(key), str(key)): value for key, value in meta.items()}
    parts = TITLE.split(document[closing.end() :])
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        key = SECTIONS.get(title.strip())
        if key is None:
            return Raw(place, problem=f"unknown section '## {title}'; the sections are {', '.join(SECTIONS)}")
        fields[key] = UNGUARDED.sub("", body).strip()
    return Raw(place, fields)


def write(contents: Sequence[Content]) -> bytes:
    """All questions one after another; reading them gives equal contents."""
    return "\n".join(_document(content) for content in contents).encode("utf-8", "backslashreplace")


def _document(content: Content) -> str:
    data = content.to_dict()
    texts = {key: data.pop(key) for key in SECTIONS.values()}
    meta = {"id": data.pop("uid"), **{key: value for key, value in data.items() if value not in ("", [])}}
    head = yaml.safe_dump(meta, sort_keys=False, allow_unicode=True, width=110)
    body = [
        f"## {title}\n{GUARDED.sub(_guard, texts[key])}\n" for title, key in SECTIONS.items() if texts[key]
    ]
    return "\n".join([f"---\n{head}---", *body])


def _guard(found: re.Match[str]) -> str:
    return "\\" + found[1]
