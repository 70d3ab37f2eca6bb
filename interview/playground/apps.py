from django.apps import AppConfig


class PlaygroundConfig(AppConfig):
    name = "interview.playground"
    label = "playground"

    def ready(self) -> None:
        from interview.playground import kinds  # noqa: F401  (registers what this app runs)
        from interview.playground.attention import kind as attention  # noqa: F401
        from interview.playground.drift import kind as drift  # noqa: F401
        from interview.playground.next_token import kind as next_token  # noqa: F401
        from interview.playground.serving import kind as serving  # noqa: F401
        from interview.playground.structured import kind as structured  # noqa: F401
        from interview.playground.trials import kind as trials  # noqa: F401
