"""The look: template tags, fonts and the page of patterns."""

from django.apps import AppConfig


class UiConfig(AppConfig):
    name = "interview.ui"
    label = "ui"
