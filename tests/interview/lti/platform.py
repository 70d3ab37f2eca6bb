"""A learning platform for the tests: real RSA keys, a real HTTP server with key set, token endpoint and gradebook.

It trusts nothing: a client assertion must be signed by a key of the tool's own key set, a score needs the token it gave out.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

CORE = "https://purl.imsglobal.org/spec/lti/claim/"
AGS_SCOPES = [
    "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem",
    "https://purl.imsglobal.org/spec/lti-ags/scope/score",
]
CLIENT, DEPLOYMENT = "client-7", "1"
INSTRUCTOR = "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"
ASSISTANT = "http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#TeachingAssistant"
LEARNER = "http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"


@cache
def _rsa() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class SimulatedPlatform:
    """Moodle or Canvas as far as LTI goes."""

    def __init__(self, tool_keys: Callable[[], dict[str, Any]]) -> None:
        self.key = _rsa()
        self.kid = uuid.uuid4().hex
        self.tool_keys = tool_keys
        self.tokens: set[str] = set()
        self.assertions: list[dict[str, Any]] = []
        self.scores: list[dict[str, Any]] = []
        self.columns: list[dict[str, Any]] = []
        self.failing: tuple[int, str] | None = None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def key_set(self) -> dict[str, Any]:
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": self.kid, "alg": "RS256", "use": "sig"}]}

    def claims(self, nonce: str, /, **changes: Any) -> dict[str, Any]:
        """What a learner's click on a link says; a change to None leaves a claim out."""
        now = int(time.time())
        found = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "user-1",
            "name": "Noa Learner",
            "email": "noa@example.org",
            "iat": now,
            "exp": now + 60,
            "nonce": nonce,
            f"{CORE}message_type": "LtiResourceLinkRequest",
            f"{CORE}version": "1.3.0",
            f"{CORE}deployment_id": DEPLOYMENT,
            f"{CORE}target_link_uri": "https://tool.example.org/",
            f"{CORE}roles": [LEARNER],
            f"{CORE}context": {"id": "course-9", "title": "Serving models 2026"},
            f"{CORE}resource_link": {"id": "link-3", "title": "Week one"},
            "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint": {
                "scope": AGS_SCOPES,
                "lineitems": f"{self.url}/items",
                "lineitem": f"{self.url}/items/3?type=lti",
            },
        }
        return {name: value for name, value in (found | changes).items() if value is not None}

    def sign(self, claims: dict[str, Any], *, key: Any = None, kid: str | None = None) -> str:
        return jwt.encode(claims, key or self.key, algorithm="RS256", headers={"kid": kid or self.kid})

    def token_answer(self, form: dict[str, list[str]]) -> tuple[int, Any]:
        assertion = form["client_assertion"][0]
        kid = jwt.get_unverified_header(assertion)["kid"]
        keys = {key["kid"]: key for key in self.tool_keys()["keys"]}
        try:
            public: Any = RSAAlgorithm.from_jwk(json.dumps(keys[kid]))
            claims = jwt.decode(
                assertion,
                public,
                algorithms=["RS256"],
                audience=f"{self.url}/token",
                issuer=CLIENT,
                options={"require": ["exp", "iat", "jti", "sub"]},
            )
        except (KeyError, jwt.InvalidTokenError) as error:
            return 401, {"error": "invalid_client", "error_description": str(error)}
        self.assertions.append(claims)
        token = uuid.uuid4().hex
        self.tokens.add(token)
        return 200, {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": 3600,
            "scope": form["scope"][0],
        }

    def page(self, path: str, form: dict[str, list[str]]) -> str | None:
        """What a browser sees at an address of the platform; this one has no pages."""
        return None

    def service_answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.failing is not None:
            return self.failing
        if path == "/items" and method == "GET":
            return 200, self.columns
        if path == "/items" and method == "POST":
            made = {**body, "id": f"{self.url}/items/{len(self.columns) + 10}"}
            self.columns.append(made)
            return 201, made
        if path.startswith("/items/") and path.endswith("/scores"):
            self.scores.append({**body, "at": path})
            return 204, None
        return 404, "No such column"


def _handler(platform: SimulatedPlatform) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/keys":
                return self._answer(200, platform.key_set())
            if (page := platform.page(self.path, {})) is not None:
                return self._page(page)
            return self._service("GET", None)

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.path == "/token":
                return self._answer(*platform.token_answer(parse_qs(sent)))
            if "json" not in self.headers["Content-Type"]:
                page = platform.page(self.path, parse_qs(sent))
                return self._page(page) if page is not None else self._answer(404, "No such page")
            return self._service("POST", json.loads(sent))

        def _service(self, method: str, body: Any) -> None:
            scheme, _, token = self.headers.get("Authorization", "").partition(" ")
            if scheme != "Bearer" or token not in platform.tokens:
                return self._answer(401, "No token")
            return self._answer(*platform.service_answer(method, urlsplit(self.path).path, body))

        def _page(self, page: str) -> None:
            content = (
                f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Platform</title>{page}'.encode()
            )
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _answer(self, status: int, body: Any) -> None:
            content = b"" if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    return Handler
