"""`manage.py build_fonts`: make static/fonts/ again from the font packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from interview.ui import fonts


class Command(BaseCommand):
    """Cut, subset and compress the site's fonts; refuse to go over the size budget."""

    help = (
        "Make the WOFF2 files in static/fonts/ from their packages (fonttools and brotli, development only)."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Build every face and print its size."""
        sizes = fonts.build(Path(settings.BASE_DIR) / "static" / "fonts")
        for name, size in sizes.items():
            self.stdout.write(f"{size:>8,} bytes  {name}")
        total = sum(sizes.values())
        self.stdout.write(f"{total:>8,} bytes  together, of {fonts.BUDGET_BYTES:,} allowed")
        if total > fonts.BUDGET_BYTES:
            raise CommandError(
                f"The fonts take {total:,} bytes; the budget is {fonts.BUDGET_BYTES:,}. Keep fewer characters."
            )
