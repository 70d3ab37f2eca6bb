"""Addresses that learning platforms call, and pages about them."""

from __future__ import annotations

from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from interview.lti.later import later

app_name = "lti"
# The exemption from CSRF is read off the view that is named here, before the launch views are imported.
CLASS = "classes/<uuid:class_id>/lms/"
urlpatterns = [
    path("lti/keys.json", later("platforms.key_set"), name="key_set"),
    path("lti/platforms/", later("platforms.platform_list"), name="platform_list"),
    path("lti/platforms/new/", later("platforms.platform_create"), name="platform_create"),
    path("lti/platforms/<uuid:platform_id>/", later("platforms.platform"), name="platform"),
    path(
        "lti/platforms/<uuid:platform_id>/delete/", later("platforms.platform_delete"), name="platform_delete"
    ),
    path("lti/<uuid:platform_id>/canvas.json", later("platforms.canvas_config"), name="canvas_config"),
    path("lti/<uuid:platform_id>/login/", csrf_exempt(later("launches.login")), name="login"),
    path("lti/<uuid:platform_id>/launch/", csrf_exempt(later("launches.launch")), name="launch"),
    path("lti/enter/<str:state>/", later("launches.enter"), name="enter"),
    path("lti/place/<str:state>/", later("places.place"), name="place"),
    path(CLASS, later("courses.course"), name="course"),
    path(f"{CLASS}links/<int:link_id>/again/", later("courses.scores_again"), name="scores_again"),
    path(f"{CLASS}links/<int:link_id>/forget/", later("courses.link_forget"), name="link_forget"),
    path(f"{CLASS}courses/<int:course_id>/unlink/", later("courses.course_unlink"), name="course_unlink"),
]
