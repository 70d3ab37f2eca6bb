"""One POST: to the very address that was checked, with the name's certificate, following nothing, within a time limit."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass

import certifi

from interview.webhooks.addresses import Target, connectable

CONNECT_SECONDS, TOTAL_SECONDS = 5, 15
READ = 300  # of the answer, for the log


class NotSent(Exception):
    """No answer came; says why."""


@dataclass(frozen=True)
class Answered:
    """What the other side said."""

    status: int
    text: str


def post(target: Target, body: bytes, headers: Mapping[str, str]) -> Answered:
    """Send a body. Raises AddressRefused, NotSent."""
    addresses = connectable(target)
    try:
        raw = _connected(addresses, target.port)
        with raw, _time_limit(raw), _context().wrap_socket(raw, server_hostname=target.host) as wire:
            return _exchange(wire, target, body, headers)
    except TimeoutError as error:
        raise NotSent("No answer in time.") from error
    except ssl.SSLCertVerificationError as error:
        raise NotSent(f"The certificate isn’t valid: {error.verify_message}.") from error
    except (OSError, http.client.HTTPException) as error:
        raise NotSent(f"The connection failed: {error or type(error).__name__}.") from error


def _context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())  # a slim container has no certificates of its own
    return context


def _connected(addresses: list[str], port: int) -> socket.socket:
    """A connection to the first address that takes one: never by name again, which could mean something else by now."""
    last: OSError = OSError("no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout=CONNECT_SECONDS)
        except OSError as error:
            last = error
    raise last


class _time_limit:
    """Cuts the connection after a while, however slowly the other side drips."""

    def __init__(self, raw: socket.socket) -> None:
        self.wire = raw.dup()
        self.timer = threading.Timer(TOTAL_SECONDS, _cut, [self.wire])

    def __enter__(self) -> None:
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        self.wire.close()


def _cut(raw: socket.socket) -> None:
    with contextlib.suppress(OSError):  # gone already
        raw.shutdown(socket.SHUT_RDWR)


def _exchange(wire: ssl.SSLSocket, target: Target, body: bytes, headers: Mapping[str, str]) -> Answered:
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.sock, connection.auto_open = wire, 0
    shown = f"[{target.host}]" if ":" in target.host else target.host
    host = shown if target.port == http.client.HTTPS_PORT else f"{shown}:{target.port}"
    connection.request("POST", target.path, body, {"Host": host, "Connection": "close", **headers})
    response = connection.getresponse()
    return Answered(response.status, response.read(READ).decode("utf-8", "replace"))
