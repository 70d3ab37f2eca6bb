"""pylti1p3 fitted to this site: platforms from the database, a nonce that works once, strict tokens.

The library keeps nonces in the session, which a browser doesn't send with a launch, and lets one be used again; it takes a
token without an end, and any algorithm that the platform's key names. Here each launch is a row that is used up.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import jwt
from django.http import HttpRequest
from django.utils import timezone
from pylti1p3.contrib.django.message_launch import DjangoMessageLaunch
from pylti1p3.contrib.django.oidc_login import DjangoOIDCLogin
from pylti1p3.contrib.django.request import DjangoRequest
from pylti1p3.contrib.django.session import DjangoSessionService
from pylti1p3.deployment import Deployment
from pylti1p3.registration import Registration
from pylti1p3.tool_config.abstract import ToolConfAbstract

from interview.lti.claims import launched
from interview.lti.errors import LaunchRefused
from interview.lti.http import PlatformSession
from interview.lti.keys import signing_key
from interview.lti.models import Launch, Platform

LIFE = timedelta(minutes=5)
LEEWAY = 30  # seconds that two servers' clocks may differ
ASKED = ["exp", "iat", "iss", "aud", "sub", "nonce"]


def registration(platform: Platform) -> Registration:
    """A platform as the library knows it."""
    private, public = signing_key()
    return (
        Registration()
        .set_issuer(platform.issuer)
        .set_client_id(platform.client_id)
        .set_auth_login_url(platform.login_url)
        .set_auth_token_url(platform.token_url)
        .set_key_set_url(platform.keys_url)
        .set_tool_private_key(private)
        .set_tool_public_key(public)
    )


class OnePlatform(ToolConfAbstract[Any]):
    """The platform whose address here was called; whoever else calls it is named and refused."""

    def __init__(self, platform: Platform) -> None:
        super().__init__()
        self.platform = platform

    def check_iss_has_one_client(self, iss: str) -> bool:
        return False

    def find_registration_by_issuer(self, iss: str, *args: Any, **kwargs: Any) -> Registration:
        return self.find_registration_by_params(iss, None)

    def find_deployment(self, iss: str, deployment_id: str) -> Deployment:
        return self.find_deployment_by_params(iss, deployment_id, self.platform.client_id)

    def find_registration_by_params(
        self, iss: str, client_id: str | None, *args: Any, **kwargs: Any
    ) -> Registration:
        if iss != self.platform.issuer:
            raise LaunchRefused(
                f"The launch comes from the issuer “{iss[:200]}”, and this address belongs to the platform "
                f"“{self.platform.name}” with the issuer “{self.platform.issuer}”."
            )
        if client_id and client_id != self.platform.client_id:
            raise LaunchRefused(
                f"The launch is for the client id “{client_id[:200]}”, and “{self.platform.name}” is registered "
                "here with another one."
            )
        return registration(self.platform)

    def find_deployment_by_params(
        self, iss: str, deployment_id: str, client_id: str, *args: Any, **kwargs: Any
    ) -> Deployment:
        if deployment_id not in self.platform.deployments:
            raise LaunchRefused(
                f"The deployment “{deployment_id[:200]}” of “{self.platform.name}” isn’t let in here. Whoever "
                "registered the platform can add it."
            )
        return Deployment().set_deployment_id(deployment_id)


class UsedOnce(DjangoSessionService):
    """State and nonce of a launch, in the database."""

    def __init__(self, request: HttpRequest, platform: Platform) -> None:
        super().__init__(DjangoRequest(request))
        self.platform, self.state, self.nonce = platform, "", ""

    def save_nonce(self, nonce: str) -> None:
        self.nonce = nonce

    def save_state_params(self, state: str, params: Any) -> None:
        Launch.objects.create(platform=self.platform, state=state, nonce=self.nonce)

    def check_state_is_valid(self, state: str, id_token_hash: str) -> bool:
        """Never by itself: the cookie of the browser that began the launch decides."""
        self.state = state
        return False

    def check_nonce(self, nonce: str) -> bool:
        """Use the launch up; one of two at the same time gets it."""
        now = timezone.now()
        waiting = Launch.objects.filter(platform=self.platform, state=self.state, nonce=nonce)
        return bool(waiting.filter(used=None, created__gt=now - LIFE).update(used=now))

    def save_launch_data(self, key: str, jwt_body: Any) -> None:
        Launch.objects.filter(state=self.state).update(claims=launched(jwt_body).to_dict())

    def set_state_valid(self, state: str, id_token_hash: str) -> None:
        """Nothing is remembered: a launch works once."""


class ToolLaunch(DjangoMessageLaunch):
    """A launch whose token must be signed with RS256, end, and be meant for this client."""

    def get_client_id(self) -> str:
        body = self._get_jwt_body()
        audience = body.get("aud") or ""
        if isinstance(audience, list):
            return str(body.get("azp") or (audience[0] if len(audience) == 1 else ""))
        return str(audience)

    def validate_jwt_signature(self) -> ToolLaunch:
        key, _ = self.get_public_key()
        assert self._registration is not None
        try:
            jwt.decode(
                self._get_id_token(),
                key,
                algorithms=["RS256"],
                audience=self._registration.get_client_id(),
                issuer=self._registration.get_issuer(),
                leeway=LEEWAY,
                options={"require": ASKED},
            )
        except jwt.ExpiredSignatureError as error:
            raise LaunchRefused(
                "The launch’s token has expired. Open the link in your course again; if this comes again, the clocks "
                "of the two servers differ."
            ) from error
        except jwt.InvalidTokenError as error:
            raise LaunchRefused(f"The launch’s token isn’t valid: {error}.") from error
        return self


def login_begin(request: HttpRequest, platform: Platform, launch_url: str) -> Any:
    """Answer the platform's first step: remember the launch and send the browser to sign in there."""
    login = DjangoOIDCLogin(request, OnePlatform(platform), session_service=UsedOnce(request, platform))
    login.pass_params_to_launch({"platform": str(platform.pk)})
    return login.redirect(launch_url)


def launch_validate(request: HttpRequest, platform: Platform) -> Launch:
    """Check the second step and use the launch up. Raises what the library raises, and LaunchRefused."""
    service = UsedOnce(request, platform)
    message = ToolLaunch(
        request,
        OnePlatform(platform),
        session_service=service,
        requests_session=PlatformSession(),
    )
    message.validate()
    return Launch.objects.select_related("platform").get(state=service.state)
