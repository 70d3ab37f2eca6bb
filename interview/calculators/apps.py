from django.apps import AppConfig


class CalculatorsConfig(AppConfig):
    name = "interview.calculators"
    label = "calculators"
