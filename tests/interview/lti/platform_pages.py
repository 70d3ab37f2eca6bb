"""The simulated platform as people see it: a course with its links, the sign-in that sends a launch, and content choosing."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from jwt.algorithms import RSAAlgorithm

from tests.interview.lti.platform import CLIENT, CORE, DEPLOYMENT, INSTRUCTOR, LEARNER, SimulatedPlatform

DEEP = "https://purl.imsglobal.org/spec/lti-dl/claim/"
PEOPLE = {"teacher-1": ("Tess Teacher", INSTRUCTOR), "learner-1": ("Noa Learner", LEARNER)}
CHOOSE, OPEN = "choose", "open"


class PlatformWithPages(SimulatedPlatform):
    """`/course?as=…` is a person's course page; its buttons start a launch as Moodle and Canvas do."""

    def __init__(self, tool_keys: Callable[[], dict[str, Any]]) -> None:
        super().__init__(tool_keys)
        self.login_url = ""
        self.items: list[dict[str, Any]] = []

    def page(self, path: str, form: dict[str, list[str]]) -> str | None:
        asked = {name: values[0] for name, values in (parse_qs(urlsplit(path).query) | form).items()}
        pages: dict[str, Callable[[dict[str, str]], str]] = {
            "/course": self._course,
            "/auth": self._sign_in,
            "/return": self._chosen,
            "/favicon.ico": lambda _: "",
        }
        found = pages.get(urlsplit(path).path)
        return None if found is None else found(asked)

    def _course(self, asked: dict[str, str]) -> str:
        """Choosing content is for teachers; each chosen item is a link of the course."""
        buttons = [("Choose content", CHOOSE)] if asked["as"].startswith("teacher") else []
        buttons += [(item["title"], f"{OPEN}-{place}") for place, item in enumerate(self.items)]
        forms = [
            _form(
                self.login_url,
                title,
                iss=self.url,
                client_id=CLIENT,
                lti_deployment_id=DEPLOYMENT,
                login_hint=asked["as"],
                lti_message_hint=hint,
                target_link_uri=self.login_url.replace("/login/", "/launch/"),
            )
            for title, hint in buttons
        ]
        return "<h1>Serving models 2026</h1>" + "".join(forms)

    def _sign_in(self, asked: dict[str, str]) -> str:
        """The authentication request, checked as the standard wants, answered by a form to the tool."""
        expected = {
            "scope": "openid",
            "response_type": "id_token",
            "response_mode": "form_post",
            "prompt": "none",
        }
        assert {name: asked.get(name) for name in expected} == expected, asked
        assert asked["client_id"] == CLIENT
        assert asked["redirect_uri"] == self.login_url.replace("/login/", "/launch/"), (
            "registered address only"
        )
        name, role = PEOPLE[asked["login_hint"]]
        changes: dict[str, Any] = {"sub": asked["login_hint"], "name": name, f"{CORE}roles": [role]}
        token = self.sign(self.claims(asked["nonce"], **changes, **self._message(asked["lti_message_hint"])))
        return _form(asked["redirect_uri"], "Go on to the tool", state=asked["state"], id_token=token)

    def _message(self, hint: str) -> dict[str, Any]:
        if hint == CHOOSE:
            settings = {
                "deep_link_return_url": f"{self.url}/return",
                "accept_types": ["ltiResourceLink"],
                "accept_presentation_document_targets": ["window"],
            }
            return {
                f"{CORE}message_type": "LtiDeepLinkingRequest",
                f"{CORE}resource_link": None,
                f"{DEEP}deep_linking_settings": settings,
            }
        item = self.items[int(hint.removeprefix(f"{OPEN}-"))]
        return {f"{CORE}custom": item["custom"], f"{CORE}resource_link": {"id": hint, "title": item["title"]}}

    def _chosen(self, asked: dict[str, str]) -> str:
        """The tool's answer: signed by a key of its key set, for this platform."""
        kid = jwt.get_unverified_header(asked["JWT"])["kid"]
        keys = {key["kid"]: key for key in self.tool_keys()["keys"]}
        public: Any = RSAAlgorithm.from_jwk(json.dumps(keys[kid]))
        claims = jwt.decode(asked["JWT"], public, algorithms=["RS256"], audience=self.url, issuer=CLIENT)
        self.items += claims[f"{DEEP}content_items"]
        return f"<h1>Added: {escape(self.items[-1]['title'])}</h1>"


def _form(address: str, button: str, **fields: str) -> str:
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in fields.items()
    )
    return f'<form method="post" action="{escape(address)}">{hidden}<button>{escape(button)}</button></form>'
