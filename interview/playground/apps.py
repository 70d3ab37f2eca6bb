from django.apps import AppConfig


class PlaygroundConfig(AppConfig):
    name = "interview.playground"
    label = "playground"
