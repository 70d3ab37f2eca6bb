"""What is told, to whom, signed, in order, again after a failure, and no more when nobody takes it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import threading
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from interview.teaching.models import Answer, Assignment, Notification
from interview.teaching.services.classes import class_archive, member_remove
from interview.teaching.services.grading import override_points
from interview.teaching.services.retention import learner_delete
from interview.webhooks import sending
from interview.webhooks.addresses import Target, target_of
from interview.webhooks.deliveries import TRIES, deliveries_prune, waiting_send
from interview.webhooks.models import Delivery, Told, Webhook
from interview.webhooks.services import secret_renew, webhook_create, webhook_resume
from interview.webhooks.signing import secret_of
from interview.webhooks.told import webhooks_compare
from tests.interview.teaching.conftest import World, handed_in
from tests.interview.webhooks.receiver import Receiver, listening

pytestmark = pytest.mark.django_db


def signature(secret: str, headers: object, body: bytes) -> str:
    """As any receiver computes it."""
    get = headers.get  # type: ignore[attr-defined]
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{get('webhook-id')}.{get('webhook-timestamp')}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


def tell(world: World) -> int:
    webhooks_compare()
    return waiting_send()


def test_a_changed_score_is_told_once_signed_and_without_name_or_answer(
    world: World, webhook: Webhook, receiver: Receiver
) -> None:
    assert tell(world) == 1 and receiver.documents[0]["type"] == "ping"
    submission = handed_in(world.assignment, world.learner, share=0.5)
    assert tell(world) == 1 and tell(world) == 0
    headers, body = receiver.came[1]
    assert headers["Host"] == f"localhost:{receiver.server_address[1]}" and headers["User-Agent"] == "Prefill"
    assert headers["webhook-signature"] == signature(secret_of(webhook), headers, body)
    assert submission.submitted is not None
    assert receiver.documents[1]["type"] == "gradebook.changed"
    assert receiver.documents[1]["data"] == {
        "class": str(world.classroom.pk),
        "assignment": str(world.assignment.pk),
        "title": "Week one",
        "of": 4.0,
        "learners": [
            {
                "member": world.seat(world.learner).pk,
                "number": "",
                "state": "assessed",
                "attempt": 1,
                "handed_in": submission.submitted.isoformat(),
                "earned": 2.0,
                "late_credit_percent": 100,
                "late_penalty": 0.0,
                "points": 2.0,
            }
        ],
    }
    assert b"Lena" not in body and b"Some words" not in body and b"example.org" not in body


def test_whatever_changes_a_score_is_told(world: World, webhook: Webhook, receiver: Receiver) -> None:
    submission = handed_in(world.assignment, world.learner)
    tell(world)
    answer = Answer.objects.select_related("item__rubric", "submission").get(
        submission=submission, item__position=1
    )
    override_points(answer=answer, author=world.owner, points=Decimal(1), reason="x")
    assert tell(world) == 1 and receiver.documents[-1]["data"]["learners"][0]["points"] == 3.0
    assert submission.submitted is not None
    due = submission.submitted - timedelta(minutes=30)
    Assignment.objects.update(due=due, late_until=due + timedelta(days=9), late_credit=50)
    assert tell(world) == 1 and receiver.documents[-1]["data"]["learners"][0]["late_penalty"] == 1.5
    learner_delete(membership=world.seat(world.learner))
    assert tell(world) == 1 and receiver.documents[-1]["data"]["learners"][0]["state"] == "not handed in"
    assert tell(world) == 0


def test_a_fresh_webhook_hears_of_what_changes_from_now_on(
    world: World, receiver: Receiver, settings: Any
) -> None:
    handed_in(world.assignment, world.learner)
    webhook_create(classroom=world.classroom, url=receiver.url)
    assert tell(world) == 1 and receiver.documents[0]["type"] == "ping"


def test_a_failure_keeps_the_order_and_is_tried_again_later_each_time(
    world: World, webhook: Webhook, receiver: Receiver
) -> None:
    receiver.status, receiver.words = 503, b"full\nof \x00 <b>work</b>"
    handed_in(world.assignment, world.learner, share=0.5)
    assert tell(world) == 0 and len(receiver.came) == 1, "the second waits behind the first"
    assert tell(world) == 0 and len(receiver.came) == 1, "not before its time"
    webhook.refresh_from_db()
    assert webhook.next_try is not None and webhook.failures == 1
    first = Delivery.objects.get(event="ping")
    assert (first.status, first.said) == (503, "full of <b>work</b>")
    with time_machine.travel(webhook.next_try, tick=False):
        tell(world)
        webhook.refresh_from_db()
        assert webhook.next_try is not None
        assert webhook.next_try - timezone.now() == timedelta(minutes=2)
        receiver.status = 200
        webhook_resume(webhook=webhook)
        assert tell(world) == 2
    webhook.refresh_from_db()
    assert webhook.failures == 0 and [document["type"] for document in receiver.documents][-2:] == [
        "ping",
        "gradebook.changed",
    ]
    ids = [headers["webhook-id"] for headers, _ in receiver.came]
    assert ids[0] == ids[1] == ids[2] != ids[3], "a receiver can tell a repetition"


def test_after_ten_failures_it_is_switched_off_and_its_owner_told_and_nothing_is_lost(
    world: World, webhook: Webhook, receiver: Receiver
) -> None:
    receiver.status = 500
    now = timezone.now()
    for day in range(TRIES + 2):
        with time_machine.travel(now + timedelta(days=day), tick=False):
            tell(world)
    webhook.refresh_from_db()
    assert webhook.disabled is not None and len(receiver.came) == TRIES
    assert webhook.why == "After 10 failures in a row: it answered 500"
    told = Notification.objects.get(owner=world.owner, text__contains="switched off")
    assert str(webhook.pk) in told.path
    handed_in(world.assignment, world.learner)
    assert tell(world) == 0
    receiver.status = 200
    webhook_resume(webhook=webhook)
    assert tell(world) == 2, "what waited, and what changed meanwhile"


def test_gone_is_gone(world: World, webhook: Webhook, receiver: Receiver) -> None:
    receiver.status = 410
    tell(world)
    webhook.refresh_from_db()
    assert webhook.disabled is not None and webhook.failures == 1


def test_a_redirect_is_not_followed(world: World, webhook: Webhook, receiver: Receiver) -> None:
    receiver.status, receiver.headers = 302, {"Location": receiver.url}
    assert tell(world) == 0 and len(receiver.came) == 1
    assert Delivery.objects.get().status == 302


def test_a_certificate_of_somebody_else_is_not_taken(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.WEBHOOK_PRIVATE_HOSTS = ["localhost"]
    with listening(tmp_path, "grades.example.org") as (server, trusted):
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        webhook_create(classroom=world.classroom, url=server.url)
        assert tell(world) == 0 and server.came == []
    assert Delivery.objects.get().said.startswith("The certificate isn’t valid")


def test_a_server_that_never_ends_its_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TOTAL_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listener.accept, daemon=True).start()
        target = Target("localhost", listener.getsockname()[1], "/", trusted=True)
        with pytest.raises(sending.NotSent):
            sending.post(target, b"{}", {})


def test_a_name_that_moved_inside_since_is_refused_and_logged(
    world: World, webhook: Webhook, receiver: Receiver, settings: Any
) -> None:
    settings.WEBHOOK_PRIVATE_HOSTS = []
    Webhook.objects.update(url="https://localhost/")
    assert target_of("https://localhost/").host == "localhost"
    assert tell(world) == 0 and receiver.came == []
    assert "private network" in Delivery.objects.get().said


def test_a_new_secret_and_a_changed_site_key(
    world: World, webhook: Webhook, receiver: Receiver, settings: Any
) -> None:
    before = secret_of(webhook)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, long enough to be one"
    tell(world)
    headers, body = receiver.came[0]
    assert signature(before, headers, body) in headers["webhook-signature"].split()
    assert signature(secret_of(webhook), headers, body) in headers["webhook-signature"].split()
    secret_renew(webhook=webhook)
    webhook.refresh_from_db()
    assert secret_of(webhook) not in (before, "")


def test_who_left_and_an_archived_class_are_not_told_of(
    world: World, webhook: Webhook, receiver: Receiver
) -> None:
    tell(world)
    handed_in(world.assignment, world.learner)
    webhooks_compare()
    member_remove(membership=world.seat(world.learner))
    waiting_send()
    assert len(receiver.came) == 1 and not Delivery.objects.filter(sent=None).exists()
    handed_in(world.assignment, world.classmate)
    class_archive(classroom=world.classroom)
    assert webhooks_compare() == 0


def test_the_log_forgets_and_holds_no_scores(world: World, webhook: Webhook, receiver: Receiver) -> None:
    handed_in(world.assignment, world.learner)
    tell(world)
    row = Delivery.objects.get(event="gradebook.changed")
    assert row.members == [world.seat(world.learner).pk]
    assert set(Told.objects.get().digests) == {str(world.seat(world.learner).pk)}
    with time_machine.travel(timezone.now() + timedelta(days=31), tick=False):
        assert deliveries_prune() == 2
