"""The connection of one exchange with a server, which any thread can cut at any moment, even before an answer began."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import openai


class Wire:
    """An OpenAI client of its own; `cut` wakes whoever waits for the server, and lets the server see that we left."""

    def __init__(self, client: openai.OpenAI) -> None:
        self.lock = threading.Lock()
        self.sockets: list[Any] = []
        self.is_cut = False
        # Connections aren't kept for others, so each is seen being made.
        self.http = openai.DefaultHttpxClient(
            timeout=client.timeout, event_hooks={"request": [self._watched]}
        )
        self.client = client.with_options(http_client=self.http)

    def _watched(self, request: Any) -> None:
        if self.is_cut:
            raise ConnectionAbortedError("cancelled")
        request.extensions["trace"] = self._seen

    def _seen(self, name: str, info: dict[str, Any]) -> None:
        if name not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        with self.lock:
            self.sockets.append(info["return_value"].get_extra_info("socket"))
            if self.is_cut:
                self._shut()

    def cut(self) -> None:
        """Ends the exchange: closing alone would leave a thread waiting in the socket until the server speaks."""
        with self.lock:
            self.is_cut = True
            self._shut()

    def _shut(self) -> None:
        for one in self.sockets:
            # One that TLS took over, or that has ended already, can't be shut again.
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Lets the connection go."""
        self.http.close()
