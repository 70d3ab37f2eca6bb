from __future__ import annotations

from django.urls import path

from interview.questions import own_views, topic_views, views

app_name = "questions"
urlpatterns = [
    path("questions/", views.question_list, name="question_list"),
    path("questions/own/", own_views.own_list, name="own_list"),
    path("questions/own/new/", own_views.own_new, name="own_new"),
    path("questions/own/import/", own_views.own_import, name="own_import"),
    path("questions/own/export/<slug:format>/", own_views.own_export, name="own_export"),
    path("questions/own/tried/<uuid:run_id>/", own_views.own_tried, name="own_tried"),
    path("questions/own/<slug:question_id>/", own_views.own_edit, name="own_edit"),
    path("questions/own/<slug:question_id>/remove/", own_views.own_remove, name="own_remove"),
    path(
        "questions/own/<slug:question_id>/versions/<int:number>/", own_views.own_restore, name="own_restore"
    ),
    path("topics/", topic_views.trace, name="trace"),
    path("topics/<slug:topic_id>/", topic_views.topic, name="topic"),
    path("which-layer/", topic_views.which_layer, name="which_layer"),
]
