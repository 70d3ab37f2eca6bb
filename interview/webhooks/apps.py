from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "interview.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from interview.webhooks import chores  # noqa: F401  (what it does by the clock)
