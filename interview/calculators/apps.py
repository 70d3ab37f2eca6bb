from pathlib import Path

from django.apps import AppConfig
from django.conf import settings


class CalculatorsConfig(AppConfig):
    name = "interview.calculators"
    label = "calculators"

    def ready(self) -> None:
        from interview.calculators import kinds  # noqa: F401  (registers what this app runs)
        from interview.calculators.formulas.token_files import use_folder

        use_folder(Path(settings.MODELS_DIR) / "tokenizers")
