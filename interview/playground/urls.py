from __future__ import annotations

from django.urls import path

from interview.playground import views
from interview.playground.attention import views as attention
from interview.playground.drift import views as drift
from interview.playground.next_token import views as next_token
from interview.playground.prompts import views as prompts
from interview.playground.serving import views as serving
from interview.playground.structured import views as structured
from interview.playground.trials import views as trials

app_name = "playground"
urlpatterns = [
    path("", views.playground, name="playground"),
    path("documents/", views.documents, name="documents"),
    path("generate/", views.generate, name="generate"),
    path("generate/fork/", views.fork, name="fork"),
    path("next-token/", next_token.next_token, name="next-token"),
    path("next-token/step/", next_token.next_token_step, name="next-token-step"),
    path("attention/", attention.attention, name="attention"),
    path("structured-output/", structured.structured_output, name="structured-output"),
    path("trials/", trials.trials, name="trials"),
    path("drift/", drift.drift, name="drift"),
    path("drift/<int:pk>/", drift.pin, name="pin"),
    path("drift/<int:pk>/run/", drift.pin_run, name="pin-run"),
    path("drift/<int:pk>/delete/", drift.pin_remove, name="pin-delete"),
    path("prompts/", prompts.prompts, name="prompts"),
    path("prompts/<int:pk>/", prompts.prompt, name="prompt"),
    path("prompts/<int:pk>/run/", prompts.prompt_run, name="prompt-run"),
    path("prompts/<int:pk>/delete/", prompts.prompt_remove, name="prompt-delete"),
    path("serving/", serving.serving, name="serving"),
]
