from django.apps import AppConfig


class QuestionsConfig(AppConfig):
    name = "interview.questions"
    label = "questions"

    def ready(self) -> None:
        from interview.questions import kinds  # noqa: F401  (registers what this app runs)
