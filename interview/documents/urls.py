from __future__ import annotations

from django.urls import path

from interview.documents import ask_views, assignment_views, eval_views, views

app_name = "documents"
urlpatterns = [
    path("", views.document_list, name="document_list"),
    path("search/", ask_views.search, name="search"),
    path("ask/", ask_views.ask, name="ask"),
    path("evaluation/", eval_views.evaluation_list, name="evaluation_list"),
    path("evaluation/<uuid:evaluation_id>/", eval_views.evaluation, name="evaluation"),
    path("evaluation/<uuid:evaluation_id>/delete/", eval_views.evaluation_delete, name="evaluation_delete"),
    path("collections/", views.collection_create, name="collection_create"),
    path("collections/<uuid:collection_id>/", views.collection, name="collection"),
    path("collections/<uuid:collection_id>/rename/", views.collection_rename, name="collection_rename"),
    path("collections/<uuid:collection_id>/delete/", views.collection_delete, name="collection_delete"),
    path(
        "collections/<uuid:collection_id>/put/<uuid:document_id>/",
        views.collection_put,
        name="collection_put",
    ),
    path(
        "collections/<uuid:collection_id>/take/<uuid:document_id>/",
        views.collection_take,
        name="collection_take",
    ),
    path("collections/<uuid:collection_id>/share/", views.collection_share, name="collection_share"),
    path(
        "collections/<uuid:collection_id>/unshare/<uuid:class_id>/",
        views.collection_unshare,
        name="collection_unshare",
    ),
    path("assignments/<uuid:assignment_id>/", assignment_views.asked, name="assignment_asked"),
    path("assignments/<uuid:assignment_id>/attach/", assignment_views.attach, name="assignment_attach"),
    path(
        "assignments/<uuid:assignment_id>/detach/<uuid:collection_id>/",
        assignment_views.detach,
        name="assignment_detach",
    ),
    path("<uuid:document_id>/", views.document, name="document"),
    path("<uuid:document_id>/original/", views.original, name="original"),
    path("<uuid:document_id>/cancel/", views.cancel, name="cancel"),
    path("<uuid:document_id>/retry/", views.retry, name="retry"),
    path("<uuid:document_id>/delete/", views.delete, name="delete"),
]
