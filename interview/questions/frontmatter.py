"""Read a Markdown file with YAML front matter and keep the line of every value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Where = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class BankError:
    """One fault in a content file; `line` counts from 1."""

    file: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass(slots=True)
class Document:
    """Front matter as plain values, the line of each value by its path, and the body's sections."""

    file: Path
    meta: dict[str, Any]
    lines: dict[Where, int]
    body: str
    sections: dict[str, str] = field(default_factory=dict)
    section_lines: dict[str, int] = field(default_factory=dict)
    errors: list[BankError] = field(default_factory=list)

    def line(self, *path: str | int) -> int:
        """Line of the value at `path`, or of its nearest parent that exists."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return 1

    def fail(self, message: str, *path: str | int) -> None:
        self.errors.append(BankError(self.file, self.line(*path), message))


def read_document(file: Path) -> Document:
    """Read one content file; faults of form are collected in `errors`, never raised."""
    document = Document(file, {}, {(): 1}, "")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        document.fail(f"not UTF-8 (byte {error.start}); save the file as UTF-8")
        return document
    head, body, body_line = _split(text)
    if head is None:
        document.fail("front matter is missing: the file starts with a line '---' and ends it with another")
        return document
    _read_front_matter(document, head)
    document.body = body.strip()
    _read_sections(document, body, body_line)
    return document


def _split(text: str) -> tuple[str | None, str, int]:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return None, text, 1
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    return None, text, 1


def _read_front_matter(document: Document, head: str) -> None:
    loader = yaml.SafeLoader(head)
    try:
        node = loader.get_single_node()
        document.meta = _plain(document, node, loader, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 2 if mark else 1
        document.errors.append(BankError(document.file, line, f"YAML: {error.problem or error.context}"))
    finally:
        loader.dispose()
    if not isinstance(document.meta, dict):
        document.meta = {}
        document.fail("front matter must be a mapping of keys to values")


def _plain(document: Document, node: yaml.Node | None, loader: yaml.SafeLoader, path: Where) -> Any:
    """The plain value of a node; the line of every part goes into `document.lines`."""
    if node is None:
        return {}
    document.lines[path] = node.start_mark.line + 2  # the opening '---' is line 1
    if isinstance(node, yaml.MappingNode):
        return _mapping(document, node, loader, path)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(document, item, loader, (*path, i)) for i, item in enumerate(node.value)]
    return loader.construct_object(node, deep=True)


def _mapping(
    document: Document, node: yaml.MappingNode, loader: yaml.SafeLoader, path: Where
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(loader.construct_object(key_node, deep=True))
        if key in values:
            document.errors.append(
                BankError(document.file, key_node.start_mark.line + 2, f"key {key!r} is given twice")
            )
        values[key] = _plain(document, value_node, loader, (*path, key))
        document.lines[(*path, key)] = key_node.start_mark.line + 2
    return values


def _read_sections(document: Document, body: str, first_line: int) -> None:
    title, fence = None, False
    parts: dict[str, list[str]] = {}
    for offset, line in enumerate(body.split("\n")):
        fence ^= line.lstrip().startswith("```")
        heading = None if fence else re.match(r"## (.+?)\s*$", line)
        if heading is None:
            if title is not None:
                parts[title].append(line)
            continue
        title = heading.group(1)
        if title in parts:
            document.errors.append(
                BankError(document.file, first_line + offset, f"section {title!r} appears twice")
            )
        parts[title] = []
        document.section_lines.setdefault(title, first_line + offset)
    document.sections = {name: "\n".join(lines).strip() for name, lines in parts.items()}
