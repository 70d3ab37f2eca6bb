from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "interview.runs"
    label = "runs"
