from django.apps import AppConfig


class TeachingConfig(AppConfig):
    name = "interview.teaching"
    label = "teaching"

    def ready(self) -> None:
        from interview.teaching import chores, kinds, signals  # noqa: F401  (what it does, runs and hears)
