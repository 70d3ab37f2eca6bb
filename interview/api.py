"""The JSON API at /api/v1/: thin handlers over services, selectors and formulas."""

from __future__ import annotations

from ninja import NinjaAPI

api = NinjaAPI(title="Prefill", version="1", urls_namespace="api", docs_url=None)
