from __future__ import annotations

from django.urls import path

from interview.practice import dispute_views, progress_views, quality, review_views, session_views, views

app_name = "practice"
urlpatterns = [
    path("practice/", review_views.practice, name="practice"),
    path("practice/disputes/", dispute_views.dispute_list, name="dispute_list"),
    path("practice/disputes/<uuid:attempt_id>/", dispute_views.dispute_case, name="dispute_case"),
    path("practice/quality/", quality.quality, name="quality"),
    path("questions/<slug:question_id>/", views.question, name="question"),
    path("questions/<slug:question_id>/draft/", views.draft_save, name="draft_save"),
    path("questions/<slug:question_id>/submit/", views.submit, name="submit"),
    path("practice/progress/", progress_views.progress, name="progress"),
    path("practice/history/<slug:question_id>/", progress_views.history, name="history"),
    path("practice/sessions/", session_views.session_list, name="session_list"),
    path("practice/sessions/<uuid:session_id>/", session_views.session, name="session"),
    path(
        "practice/sessions/<uuid:session_id>/answer/<int:position>/",
        session_views.session_answer,
        name="session_answer",
    ),
    path(
        "practice/sessions/<uuid:session_id>/skip/<int:position>/",
        session_views.session_skip,
        name="session_skip",
    ),
    path(
        "practice/sessions/<uuid:session_id>/probe/<int:position>/<int:probe>/",
        session_views.session_probe,
        name="session_probe",
    ),
    path("practice/sessions/<uuid:session_id>/end/", session_views.session_end, name="session_end"),
    path("practice/sessions/<uuid:session_id>/report/", session_views.report, name="report"),
    path("practice/sessions/<uuid:session_id>/share/", session_views.report_share, name="report_share"),
    path("practice/reports/<str:token>/", session_views.report_shared, name="report_shared"),
    path("practice/attempts/<uuid:attempt_id>/", views.attempt, name="attempt"),
    path("practice/attempts/<uuid:attempt_id>/probes/<int:probe>/", views.probe_submit, name="probe_submit"),
    path("practice/attempts/<uuid:attempt_id>/regrade/", views.regrade, name="regrade"),
    path("practice/attempts/<uuid:attempt_id>/rating/", review_views.rating, name="rating"),
    path("practice/attempts/<uuid:attempt_id>/dispute/", dispute_views.dispute, name="dispute"),
]
