"""The tools a model may ask for. Each app registers its own when Django starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interview.accounts.models import User
from interview.runs.chain import canonical_hash
from interview.runs.kinds import Models

JSON = dict[str, Any]


class ToolRefused(Exception):
    """The call can't be carried out; the message is told to the model and shown to its user."""


@dataclass(frozen=True)
class Tool:
    """A named function with its arguments' schema.

    `run` answers at once, `look_up` likewise with the models that the worker holds. A tool with `effect` changes something: `effect` checks the call for its user and says in words
    what would happen, and `carry_out` (given the proposal) does it after the user has confirmed. `from_user` names
    arguments that must occur in the user's own words: neither a document nor a tool's result can supply them.
    """

    name: str
    title: str
    description: str
    parameters: JSON
    run: Callable[[User, JSON], Any] | None = None
    look_up: Callable[[User, JSON, Models], Any] | None = None
    effect: Callable[[User, JSON], str] | None = None
    carry_out: Callable[[Any], JSON] | None = None
    from_user: tuple[str, ...] = ()

    @property
    def declaration(self) -> JSON:
        """What the model is told."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    @property
    def version(self) -> str:
        """Changes whenever what the model is told changes."""
        return canonical_hash(self.declaration)[:12]


_tools: dict[str, Tool] = {}


def register(tool: Tool) -> None:
    """Make a tool known; the last registration of a name wins (autoreload)."""
    _tools[tool.name] = tool


def tools() -> dict[str, Tool]:
    """Every tool by name."""
    return dict(_tools)


def find(name: str) -> Tool | None:
    """A tool by name."""
    return _tools.get(name)
