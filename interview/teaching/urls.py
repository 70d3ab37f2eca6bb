from __future__ import annotations

from django.urls import path

from interview.teaching import views

app_name = "teaching"
urlpatterns = [
    path("classes/", views.class_list, name="class_list"),
    path("sets/", views.set_list, name="set_list"),
]
