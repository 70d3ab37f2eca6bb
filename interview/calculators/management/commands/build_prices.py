"""Makes formulas/price_rows.json from the `genai-prices` package (MIT): the usual models, their prices, the date."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from interview.calculators.formulas.prices import ROWS

PROVIDERS = ("anthropic", "openai", "google", "mistral", "deepseek", "x-ai", "cohere", "moonshotai")
KEYS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
# What a chat bill does not use: other media, fine-tunes, previews that come and go.
SKIPPED = (
    "audio",
    "image",
    "realtime",
    "embed",
    "tts",
    "whisper",
    "moderation",
    "ft:",
    "search",
    "transcribe",
    "live",
    "google/claude",
    "robotics",
    "computer-use",
)


class Command(BaseCommand):
    """Run after raising the package's version; needs `pip install genai-prices`, which the site itself does not."""

    help = __doc__ or ""

    def handle(self, *args: Any, **options: Any) -> None:
        from genai_prices.data_snapshot import get_snapshot

        # At noon, so that the hour it runs at doesn't matter: DeepSeek is cheaper by night.
        now = datetime.now(UTC).replace(hour=12, minute=0)
        rows = [
            row
            for provider in get_snapshot().providers
            if provider.id in PROVIDERS
            for model in provider.models
            if (row := _row(provider, model, now)) is not None
        ]
        source = f"genai-prices {version('genai-prices')}"
        text = json.dumps({"as_of": now.date().isoformat(), "source": source, "rows": rows}, indent=1)
        Path(ROWS).write_text(text + "\n", "utf-8")
        self.stdout.write(f"{len(rows)} models from {source}")


def _row(provider: Any, model: Any, now: datetime) -> dict[str, Any] | None:
    if model.deprecated or any(word in f"{provider.id}/{model.id}" for word in SKIPPED):
        return None
    prices = model.get_prices(now)
    flat = {key: _first(getattr(prices, key, None)) for key in KEYS}
    if not flat["input_mtok"] or not flat["output_mtok"]:
        return None
    row: dict[str, Any] = {"id": f"{provider.id}/{model.id}", "name": model.name or model.id}
    row |= {key.removesuffix("_mtok"): float(value) for key, value in flat.items() if value is not None}
    tier = _tier(prices)
    if tier:
        row["tier"] = tier
    row["accounting"] = "separate" if provider.id == "anthropic" else "inclusive"
    row["source"] = (provider.pricing_urls or [""])[0]
    return row


def _first(price: Any) -> Decimal | None:
    base: Decimal | None = getattr(price, "base", price)
    return base


def _tier(prices: Any) -> dict[str, float]:
    """The first whole-request tier: where it starts and what it costs."""
    found: dict[str, float] = {}
    for key in KEYS:
        tiers = getattr(getattr(prices, key, None), "tiers", None)
        if tiers:
            found["start"] = tiers[0].start
            found[key.removesuffix("_mtok")] = float(tiers[0].price)
    return found
