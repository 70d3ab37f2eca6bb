from django.apps import AppConfig


class TeachingConfig(AppConfig):
    name = "interview.teaching"
    label = "teaching"

    def ready(self) -> None:
        from interview.teaching import signals  # noqa: F401  (hears what happens to accounts)
