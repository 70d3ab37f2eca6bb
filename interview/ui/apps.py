from django.apps import AppConfig


class UiConfig(AppConfig):
    name = "interview.ui"
    label = "ui"
