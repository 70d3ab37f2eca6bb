from __future__ import annotations

from django.urls import path

from interview.questions import views

app_name = "questions"
urlpatterns = [
    path("questions/", views.question_list, name="question_list"),
    path("topics/<slug:topic_id>/", views.topic, name="topic"),
]
