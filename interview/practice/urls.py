from __future__ import annotations

app_name = "practice"
urlpatterns: list = []
