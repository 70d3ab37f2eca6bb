"""Letters to people, sent beside the request: how long a page takes never tells whether an address is known."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

UNREACHABLE = ".invalid"
log = structlog.get_logger(__name__)
# Python waits for these threads when the process ends, so a letter under way is not lost.
_senders = ThreadPoolExecutor(max_workers=2, thread_name_prefix="mail")


def letter(*, to: str, subject: str, template: str, context: dict[str, Any]) -> EmailMessage:
    """A plain-text letter; `template` is the name of a file under templates/accounts/mail/."""
    return EmailMessage(
        subject=" ".join(subject.split()),
        body=render_to_string(f"accounts/mail/{template}", context),
        to=[to],
    )


def send_soon(message: EmailMessage) -> None:
    """Send in the background; a failure is logged, for nobody waits for the answer.

    Accounts that a learning platform made have an address under .invalid, where no letter can arrive.
    """
    message.to = [address for address in message.to if not address.endswith(UNREACHABLE)]
    if not message.to:
        return
    _senders.submit(_send, message)


def _send(message: EmailMessage) -> None:
    try:
        message.send()
    except Exception:  # whatever the mail server or its library does: the log is the only place to tell
        log.exception("mail_not_sent", subject=message.subject)
