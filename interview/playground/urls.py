from __future__ import annotations

app_name = "playground"
urlpatterns: list = []
