from django.apps import AppConfig


class CalculatorsConfig(AppConfig):
    name = "interview.calculators"
    label = "calculators"

    def ready(self) -> None:
        from interview.calculators import kinds  # noqa: F401  (registers what this app runs)
