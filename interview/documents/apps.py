from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    name = "interview.documents"
    label = "documents"

    def ready(self) -> None:
        from interview.documents import assignment_sharing, class_sharing, kinds, signals, tool  # noqa: F401  (registers what this app runs and hears)
