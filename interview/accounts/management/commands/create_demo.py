"""`manage.py create_demo`: the two demo sign-ins, where DEMO is on."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from interview.accounts.services import demo_create, demo_sign_ins


class Command(BaseCommand):
    """Make the demo accounts; doing it again changes nothing."""

    help = "Make the demo accounts (a learner and a teacher) and print their sign-ins. Needs DEMO=on."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("DEMO is off. Set DEMO=on to have accounts with a password that is printed.")
        demo_create()
        for email, password in demo_sign_ins():
            self.stdout.write(f"{email}  {password}")
