from __future__ import annotations

from django.urls import path

from interview.openai_api import views

app_name = "openai_api"
urlpatterns = [
    path("models", views.models, name="models"),
    path("models/<path:name>", views.model, name="model"),
    path("chat/completions", views.chat_completions, name="chat_completions"),
    path("<path:path>", views.unknown, name="unknown"),
]
