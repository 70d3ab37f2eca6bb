"""The web process: `python -m interview.serve.web`. One event loop, no model, never torch."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
import time

import uvicorn
from django.core.exceptions import ImproperlyConfigured

from interview.heap import give_back

TRIM_SECONDS = 60.0  # a large upload or tokenizer leaves freed pages that glibc keeps until it is asked
GRACE_SECONDS = 5  # open event streams are cut after this when the process is told to end


def config() -> uvicorn.Config:
    """How uvicorn serves the site, from the settings."""
    from django.conf import settings

    return uvicorn.Config(
        "interview.asgi:application",
        host=settings.HOST,
        port=settings.PORT,
        lifespan="off",
        ws="none",
        log_config=None,  # interview/logs.py set the loggers up
        access_log=False,  # django-structlog writes one line a request
        server_header=False,
        proxy_headers=bool(settings.TRUSTED_PROXIES),
        forwarded_allow_ips=settings.TRUSTED_PROXIES,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def trim_now_and_then() -> None:
    """Give freed memory back to the system once a minute, beside the event loop."""
    while True:
        time.sleep(TRIM_SECONDS)
        give_back()


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m interview.serve.web", description=__doc__)
    parser.add_argument("--fd", type=int, help="a listening socket to inherit instead of opening HOST:PORT")
    inherited = parser.parse_args(words).fd
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview.settings")
    try:
        server = uvicorn.Server(config())
    except ImproperlyConfigured as error:
        sys.exit(f"Can't start: {error}")
    threading.Thread(target=trim_now_and_then, name="trim", daemon=True).start()
    server.run(sockets=None if inherited is None else [socket.socket(fileno=inherited)])


if __name__ == "__main__":
    main(sys.argv[1:])
