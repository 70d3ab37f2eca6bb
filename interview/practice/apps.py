from django.apps import AppConfig


class PracticeConfig(AppConfig):
    name = "interview.practice"
    label = "practice"

    def ready(self) -> None:
        from interview.practice import kinds, signals  # noqa: F401  (registers what this app runs and hears)
