"""`manage.py clear_links`: forget the text of short links whose time is over; run it daily."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from interview.calculators import services


class Command(BaseCommand):
    """The rows stay, so that the address still says the link is gone."""

    help = "Forget the text of expired short links."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{services.clear_expired()} expired links cleared")
