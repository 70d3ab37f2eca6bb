from django.apps import AppConfig


class TeachingConfig(AppConfig):
    name = "interview.teaching"
    label = "teaching"

    def ready(self) -> None:
        from interview.teaching import kinds, signals  # noqa: F401  (what it runs, what it hears)
