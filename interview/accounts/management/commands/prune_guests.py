"""`manage.py prune_guests`: delete guests whose browser can no longer come back."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from interview.accounts.services import guests_prune


class Command(BaseCommand):
    """Delete guests that no live session holds, with what they own, and expired sessions."""

    help = "Delete guests that no live session holds (made more than a day ago), and expired sessions."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{guests_prune()} guests deleted.")
