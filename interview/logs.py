"""Structured logs on stderr: readable lines on a console, JSON lines for a collector."""

from __future__ import annotations

import logging
import logging.config
from typing import Any

import structlog


def configure(options: dict[str, Any]) -> None:
    """Set up the standard library's loggers and structlog from {level, format}."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.format_exc_info,
    ]
    renderer: Any = structlog.processors.JSONRenderer()
    if options["format"] == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=False)
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "line": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                    "foreign_pre_chain": shared,
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": options["level"]},
            "loggers": {"httpx": {"level": "WARNING"}, "django.server": {"level": "WARNING"}},
        }
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
