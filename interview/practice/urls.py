from __future__ import annotations

from django.urls import path

from interview.practice import views

app_name = "practice"
urlpatterns = [
    path("practice/", views.practice, name="practice"),
    path("questions/<slug:question_id>/", views.question, name="question"),
    path("questions/<slug:question_id>/draft/", views.draft_save, name="draft_save"),
    path("questions/<slug:question_id>/submit/", views.submit, name="submit"),
    path("practice/attempts/<uuid:attempt_id>/", views.attempt, name="attempt"),
    path("practice/attempts/<uuid:attempt_id>/probes/<int:probe>/", views.probe_submit, name="probe_submit"),
    path("practice/attempts/<uuid:attempt_id>/regrade/", views.regrade, name="regrade"),
]
