"""The listening socket: opened by the supervisor, so that a taken port is known first and a restart refuses nobody."""

from __future__ import annotations

import errno
import socket

BACKLOG = 2048


class ServeFailed(Exception):
    """The site can't start; the message says why and what to do, in one line."""


def listen(host: str, port: int) -> socket.socket:
    """A bound, listening socket; port 0 takes a free one. Raises ServeFailed."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise ServeFailed(
            f"HOST={host} is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all."
        ) from error
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ServeFailed(_refusal(host, port, error)) from error
    listener.listen(BACKLOG)
    listener.set_inheritable(True)
    return listener


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is taken. Stop what uses it, or choose another: make run PORT={_free(host, port)}"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"Port {port} needs rights this user lacks. Choose one above 1023: make run PORT=8000"
    return f"HOST={host} can't be listened on ({error.strerror}). Use 127.0.0.1, or 0.0.0.0 for all."


def _free(host: str, port: int) -> int:
    """The next port that is free now."""
    for candidate in range(port + 1, min(port + 50, 65536)):
        try:
            listen(host, candidate).close()
        except ServeFailed:
            continue
        return candidate
    return 0
