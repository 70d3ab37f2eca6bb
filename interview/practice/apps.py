from django.apps import AppConfig


class PracticeConfig(AppConfig):
    name = "interview.practice"
    label = "practice"
