"""Typed errors of the engine. Each has a stable `code` and a message that says what to do."""

from __future__ import annotations


class EngineError(Exception):
    """Base of every error the engine raises on purpose."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def to_dict(self) -> dict[str, str]:
        """The error as JSON-ready data."""
        return {"code": self.code, "message": self.message}


class InvalidRequest(EngineError):
    """The caller's request is wrong; `field` names the part."""

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        super().__init__(code, message)
        self.field = field

    def to_dict(self) -> dict[str, str]:
        """The error as JSON-ready data, with the field where one is known."""
        extra = {"field": self.field} if self.field else {}
        return {**super().to_dict(), **extra}


class PromptTooLong(InvalidRequest):
    """The prompt (plus the asked-for output) can never fit the context or the KV memory."""

    def __init__(self, message: str) -> None:
        super().__init__("prompt_too_long", message, "messages")


class ModelError(EngineError):
    """A model file is missing, corrupt, unsupported or too large for this machine."""


class EngineClosed(EngineError):
    """The engine was closed while, or before, the request ran."""

    def __init__(self) -> None:
        super().__init__("engine_closed", "the engine is closed; load it again")
