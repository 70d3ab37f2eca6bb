"""Writes about accounts: make, adopt a guest, change, delete, tokens, demo sign-ins."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.files.storage import Storage
from django.db import IntegrityError, InternalError, models, transaction
from django.utils import timezone

from interview.accounts.models import ApiToken, User, email_canonical
from interview.accounts.owned import Relation, owned_rows, relations
from interview.accounts.owners import GUEST_KEY
from interview.accounts.selectors import token_digest
from interview.accounts.signals import account_leaving, guest_adopted

log = structlog.get_logger(__name__)

TOKEN_PREFIX = "prefill_"
TOKEN_LIMIT = 50
GUEST_GRACE = timedelta(days=1)
PREFIX_SHOWN = 12  # characters of a token that lists show, so that its owner can tell which one it is
DEMO_EMAILS = (("learner@example.org", "Lea Learner"), ("teacher@example.org", "Theo Teacher"))


class AccountError(Exception):
    """Something about an account can't be done; the message says what to do instead."""


class EmailTaken(AccountError):
    """Another account has this address."""


class TokenRefused(AccountError):
    """The token's name is taken, or there are too many."""


class CannotLeave(AccountError):
    """Somebody else's work stands on a row of this account."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """What moved from a guest to an account, and which rows (model label, key) could not."""

    n_moved: int
    kept: tuple[tuple[str, str], ...]


def account_create(
    *, email: str, password: str, name: str = "", time_zone: str = "UTC", guest: User | None = None
) -> User:
    """An account; a guest's own row becomes it, so that everything the guest did stays where it is.

    Raises `EmailTaken`.
    """
    user = User(email=email_canonical(email), name=name, time_zone=time_zone)
    user.set_password(password)
    try:
        with transaction.atomic():
            if guest is not None and _guest_becomes(guest, user):
                return User.objects.get(pk=guest.pk)
            user.save(force_insert=True)
    except IntegrityError as error:
        raise EmailTaken("This address already has an account. Sign in, or reset the password.") from error
    return user


def _guest_becomes(guest: User, user: User) -> bool:
    """False when the guest signed up elsewhere in the meantime: then a fresh row is made."""
    return bool(
        User.objects.filter(pk=guest.pk, is_guest=True, merged_into=None).update(
            is_guest=False,
            email=user.email,
            password=user.password,
            name=user.name,
            time_zone=user.time_zone,
        )
    )


@transaction.atomic
def account_adopt(*, guest: User, user: User) -> Adoption:
    """Give an account what a guest owns, then delete the guest.

    Rooms merge first what conflicts (signal `guest_adopted`). A row that a constraint still refuses stays with the
    guest, who then stays too, tied to the account: the row is in the account's export and leaves with it.
    """
    # The lock makes an insert for this guest by another request wait and fail, never vanish with the guest.
    locked = User.objects.select_for_update().filter(pk=guest.pk, is_guest=True, merged_into=None).first()
    if locked is None or locked.pk == user.pk:
        return Adoption(0, ())
    guest_adopted.send(sender=User, guest=locked, user=user)
    moved, kept = 0, []
    for relation in relations():
        n_moved, refused = _move(relation, locked, user)
        moved += n_moved
        kept += [(relation.model._meta.label_lower, str(key)) for key in refused]
    if kept:
        log.warning("guest_rows_kept", user=user.pk, guest=locked.pk, rows=kept)
        User.objects.filter(pk=locked.pk).update(merged_into=user, is_active=False)
    else:
        locked.delete()
    return Adoption(moved, tuple(kept))


def _move(relation: Relation, guest: User, user: User) -> tuple[int, list[Any]]:
    rows = relation.rows(guest)
    together = _moved(rows, relation.field, user)
    if together is not None:
        return together, []
    n_moved, refused = 0, []
    for key in list(rows.values_list("pk", flat=True)):
        one = _moved(rows.filter(pk=key), relation.field, user)
        n_moved += one or 0
        refused += [key] if one is None else []
    return n_moved, refused


def _moved(rows: models.QuerySet[Any], field: str, user: User) -> int | None:
    """How many rows moved, all or none; None when a constraint or trigger refuses."""
    try:
        with transaction.atomic():
            return rows.update(**{field: user})
    except (IntegrityError, InternalError):
        return None


def account_delete(*, owner: User) -> None:
    """Delete an account or guest with everything it owns, uploaded files included.

    Raises `CannotLeave` when a row of somebody else stands on one of these.
    """
    owners = (owner, *owner.merged_guests.all())
    with transaction.atomic():
        account_leaving.send(sender=User, user=owner)
        files = _stored_files(*owners)
        _delete_owned(*owners)
        try:
            owner.delete()
        except models.ProtectedError as error:
            raise _cannot_leave(error) from error
        transaction.on_commit(lambda: _delete_files(files))


def _delete_owned(*owners: User) -> None:
    """Delete owned rows model by model; one that another owned row still needs waits for its turn."""
    waiting = [relation for relation in relations() if relation.field == "owner"]
    while waiting:
        left: list[Relation] = []
        refusal: models.ProtectedError | None = None
        for relation in waiting:
            try:
                with transaction.atomic():
                    relation.rows(*owners).delete()
            except models.ProtectedError as error:
                left, refusal = [*left, relation], error
        if refusal is not None and len(left) == len(waiting):
            raise _cannot_leave(refusal) from refusal
        waiting = left


def _cannot_leave(error: models.ProtectedError) -> CannotLeave:
    kinds = sorted({str(row._meta.verbose_name_plural) for row in error.protected_objects})
    return CannotLeave(
        f"Other people's {', '.join(kinds)} build on something of yours. Delete or hand over that first; nothing was deleted."
    )


def _stored_files(*owners: User) -> list[tuple[Storage, str]]:
    found: list[tuple[Storage, str]] = []
    for model, rows in owned_rows(*owners):
        for field in model._meta.concrete_fields:
            if isinstance(field, models.FileField):
                names = rows.exclude(**{field.name: ""}).values_list(field.name, flat=True)
                found += [(field.storage, name) for name in names if name]
    return found


def _delete_files(files: list[tuple[Storage, str]]) -> None:
    for storage, name in files:
        try:
            storage.delete(name)
        except OSError:
            log.error("file_left_behind", name=name, exc_info=True)


def email_change(*, user: User, email: str) -> None:
    """Give an account another address. Raises `EmailTaken`."""
    try:
        with transaction.atomic():
            User.objects.filter(pk=user.pk).update(email=email_canonical(email))
    except IntegrityError as error:
        raise EmailTaken("Another account has this address.") from error


def profile_update(*, user: User, name: str, time_zone: str) -> None:
    """Change how an account is shown and in which zone it reads times."""
    user.name, user.time_zone = name, time_zone
    user.save(update_fields=["name", "time_zone"])


def password_set(*, user: User, password: str, revoke_tokens: bool = False) -> None:
    """Change a password; after a reset by e-mail the API tokens go too, for whoever made them may be a stranger."""
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        if revoke_tokens:
            user.api_tokens.all().delete()


def token_create(*, owner: User, name: str) -> tuple[ApiToken, str]:
    """A new personal token and its secret, which is told once and never stored. Raises `TokenRefused`."""
    if owner.api_tokens.count() >= TOKEN_LIMIT:
        raise TokenRefused(f"There are {TOKEN_LIMIT} tokens already. Revoke one that is no longer used.")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken(owner=owner, name=name, prefix=secret[:PREFIX_SHOWN], digest=token_digest(secret))
    try:
        with transaction.atomic():
            token.save(force_insert=True)
    except IntegrityError as error:
        raise TokenRefused(f"A token named “{name}” exists. Give this one another name.") from error
    return token, secret


def token_revoke(*, owner: User, token_id: int) -> bool:
    """Delete a token of one's own; False when there is no such token."""
    return bool(ApiToken.objects.filter(owner=owner, pk=token_id).delete()[0])


def guests_prune() -> int:
    """Delete guests that no live session holds, with what they own; how many went.

    Nobody can reach their rows any more. A day's grace covers sessions that are being written right now.
    """
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    held = {session.get_decoded().get(GUEST_KEY) for session in Session.objects.iterator()}
    old = User.objects.filter(is_guest=True, merged_into=None, date_joined__lt=timezone.now() - GUEST_GRACE)
    n_deleted = 0
    for guest in old.iterator():
        if guest.pk not in held:
            account_delete(owner=guest)
            n_deleted += 1
    return n_deleted


def demo_sign_ins() -> list[tuple[str, str]]:
    """The demo accounts' addresses and their password; none unless DEMO is on."""
    if not settings.DEMO:
        return []
    password = _demo_password(Path(settings.VAR_DIR) / "demo_password")
    return [(email, password) for email, _ in DEMO_EMAILS]


def demo_create() -> list[User]:
    """Make the demo accounts, or set their password again. Doing it twice changes nothing."""
    names = dict(DEMO_EMAILS)
    made = []
    for email, password in demo_sign_ins():
        user = User.objects.filter(email=email).first()
        if user is None:
            user = account_create(email=email, password=password, name=names[email])
        elif not user.check_password(password):
            password_set(user=user, password=password)
        made.append(user)
    return made


def _demo_password(file: Path) -> str:
    given = str(getattr(settings, "DEMO_PASSWORD", ""))
    if given:
        return given
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text(encoding="ascii").strip()
    password = "-".join(secrets.token_hex(2) for _ in range(4))
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(password + "\n")
    return password
