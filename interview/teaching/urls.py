from __future__ import annotations

app_name = "teaching"
urlpatterns: list = []
