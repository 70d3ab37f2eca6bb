from django.apps import AppConfig


class QuestionsConfig(AppConfig):
    name = "interview.questions"
    label = "questions"
