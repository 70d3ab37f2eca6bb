from django.apps import AppConfig


class LtiConfig(AppConfig):
    name = "interview.lti"
    label = "lti"

    def ready(self) -> None:
        from interview.lti import chores  # noqa: F401  (what it does by the clock)
