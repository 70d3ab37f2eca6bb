from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "interview.accounts"
    label = "accounts"
