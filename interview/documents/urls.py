from __future__ import annotations

app_name = "documents"
urlpatterns: list = []
