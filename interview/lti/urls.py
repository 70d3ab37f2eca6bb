"""Addresses that learning platforms call, and pages about them."""

from __future__ import annotations

from django.urls import path

from interview.lti.views import courses, launches, places, platforms

app_name = "lti"
CLASS = "classes/<uuid:class_id>/lms/"
urlpatterns = [
    path("lti/keys.json", platforms.key_set, name="key_set"),
    path("lti/platforms/", platforms.platform_list, name="platform_list"),
    path("lti/platforms/new/", platforms.platform_create, name="platform_create"),
    path("lti/platforms/<uuid:platform_id>/", platforms.platform, name="platform"),
    path("lti/platforms/<uuid:platform_id>/delete/", platforms.platform_delete, name="platform_delete"),
    path("lti/<uuid:platform_id>/canvas.json", platforms.canvas_config, name="canvas_config"),
    path("lti/<uuid:platform_id>/login/", launches.login, name="login"),
    path("lti/<uuid:platform_id>/launch/", launches.launch, name="launch"),
    path("lti/enter/<str:state>/", launches.enter, name="enter"),
    path("lti/place/<str:state>/", places.place, name="place"),
    path(CLASS, courses.course, name="course"),
    path(f"{CLASS}links/<int:link_id>/again/", courses.scores_again, name="scores_again"),
    path(f"{CLASS}links/<int:link_id>/forget/", courses.link_forget, name="link_forget"),
    path(f"{CLASS}courses/<int:course_id>/unlink/", courses.course_unlink, name="course_unlink"),
]
