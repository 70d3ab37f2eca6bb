from django.apps import AppConfig


class TeachingConfig(AppConfig):
    name = "interview.teaching"
    label = "teaching"
