from django.apps import AppConfig


class OpenaiApiConfig(AppConfig):
    name = "interview.openai_api"
    label = "openai_api"

    def ready(self) -> None:
        from interview.openai_api import kinds  # noqa: F401  (registers what this app runs)
