from __future__ import annotations

from django.urls import path

from interview.documents import views

app_name = "documents"
urlpatterns = [
    path("", views.document_list, name="document_list"),
]
