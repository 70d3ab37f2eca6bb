from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    name = "interview.documents"
    label = "documents"
