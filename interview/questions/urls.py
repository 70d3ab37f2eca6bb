from __future__ import annotations

app_name = "questions"
urlpatterns: list = []
