"""Structured logs on stderr: readable lines on a console, JSON lines for a collector."""

from __future__ import annotations

import logging
import logging.config
from collections.abc import MutableMapping
from typing import Any

import structlog

# Asked every few seconds by supervisors and load balancers: their answers are no news.
UNHEARD = "/healthz/"


def configure(options: dict[str, Any]) -> None:
    """Set up the standard library's loggers and structlog from {level, format}."""
    shared: list[structlog.typing.Processor] = [
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
            "filters": {"news": {"()": News}},
            "formatters": {
                "line": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                    "foreign_pre_chain": shared,
                }
            },
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": options["level"]},
            "loggers": {
                "httpx": {"level": "WARNING"},
                "django.server": {"level": "WARNING"},
                "django.request": {"filters": ["news"]},
            },
        }
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            drop_routine,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


class News(logging.Filter):
    """Of Django's own request log only what carries a traceback: the rest repeats the line of django-structlog."""

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(record.exc_info)


def drop_routine(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """One line a request, when it is done, and none for health checks."""
    if event.get("event") == "request_started" or UNHEARD in str(event.get("request", "")):
        raise structlog.DropEvent
    return event
