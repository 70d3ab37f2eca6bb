from __future__ import annotations

from django.urls import path

from interview.playground import views
from interview.playground.attention import views as attention
from interview.playground.next_token import views as next_token
from interview.playground.serving import views as serving
from interview.playground.trials import views as trials

app_name = "playground"
urlpatterns = [
    path("", views.playground, name="playground"),
    path("generate/", views.generate, name="generate"),
    path("generate/fork/", views.fork, name="fork"),
    path("next-token/", next_token.next_token, name="next-token"),
    path("next-token/step/", next_token.next_token_step, name="next-token-step"),
    path("attention/", attention.attention, name="attention"),
    path("trials/", trials.trials, name="trials"),
    path("serving/", serving.serving, name="serving"),
]
