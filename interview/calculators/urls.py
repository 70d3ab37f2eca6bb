from __future__ import annotations

app_name = "calculators"
urlpatterns: list = []
