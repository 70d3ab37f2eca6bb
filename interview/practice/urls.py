from __future__ import annotations

from django.urls import path

from interview.practice import review_views, views

app_name = "practice"
urlpatterns = [
    path("practice/", review_views.practice, name="practice"),
    path("questions/<slug:question_id>/", views.question, name="question"),
    path("questions/<slug:question_id>/draft/", views.draft_save, name="draft_save"),
    path("questions/<slug:question_id>/submit/", views.submit, name="submit"),
    path("practice/attempts/<uuid:attempt_id>/", views.attempt, name="attempt"),
    path("practice/attempts/<uuid:attempt_id>/probes/<int:probe>/", views.probe_submit, name="probe_submit"),
    path("practice/attempts/<uuid:attempt_id>/regrade/", views.regrade, name="regrade"),
    path("practice/attempts/<uuid:attempt_id>/rating/", review_views.rating, name="rating"),
    path("practice/attempts/<uuid:attempt_id>/dispute/", review_views.dispute, name="dispute"),
]
