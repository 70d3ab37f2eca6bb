from django.apps import AppConfig


class ToolsConfig(AppConfig):
    name = "interview.tools"
    label = "tools"

    def ready(self) -> None:
        from interview.tools import calculators, convert, kind, refund  # noqa: F401  (each registers what it brings)
