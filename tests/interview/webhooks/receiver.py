"""A server that takes webhooks over real TLS, with a certificate that the test makes."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for a name that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / f"{name}.pem", folder / f"{name}.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    unlocked = serialization.NoEncryption()
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, unlocked)
    )
    return paths


class Receiver(ThreadingHTTPServer):
    """Keeps what came, and answers as told."""

    def __init__(self, paths: tuple[Path, Path]) -> None:
        self.came: list[tuple[Message, bytes]] = []
        self.status, self.words, self.headers = 204, b"", {}  # type: ignore[var-annotated]
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*paths)
        self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.server_address[1]}/grades?from=prefill"

    @property
    def documents(self) -> list[Any]:
        return [json.loads(body) for _, body in self.came]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came.append((self.headers, body))
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.words)))
        self.end_headers()
        self.wfile.write(self.server.words)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def listening(folder: Path, name: str = "localhost") -> Iterator[tuple[Receiver, Path]]:
    """A receiver at work, and the file of its certificate."""
    paths = certificate(folder, name)
    receiver = Receiver(paths)
    thread = threading.Thread(target=receiver.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield receiver, paths[0]
    finally:
        receiver.shutdown()
        receiver.server_close()
