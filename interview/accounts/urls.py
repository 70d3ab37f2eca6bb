"""Addresses under /account/."""

from __future__ import annotations

from django.urls import path

from interview.accounts import passwords, profile, tokens, views

app_name = "accounts"
urlpatterns = [
    path("", profile.profile, name="profile"),
    path("sign-up/", views.sign_up, name="sign_up"),
    path("sign-in/", views.sign_in, name="sign_in"),
    path("sign-out/", views.sign_out, name="sign_out"),
    path("typed/", views.typed, name="typed"),
    path("typed/discard/", views.typed_discard, name="typed_discard"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/create/", tokens.token_create, name="token_create"),
    path("tokens/<int:token_id>/revoke/", tokens.token_revoke, name="token_revoke"),
    path("email/", profile.email_change, name="email_change"),
    path("email/confirm/<str:claim>/", profile.email_confirm, name="email_confirm"),
    path("export/", profile.export, name="export"),
    path("delete/", profile.delete, name="delete"),
    path("password/", passwords.password_change, name="password_change"),
    path("password/reset/", passwords.password_reset, name="password_reset"),
    path("password/reset/done/", passwords.password_reset_done, name="password_reset_done"),
    path("password/reset/complete/", passwords.password_reset_complete, name="password_reset_complete"),
    path("password/reset/<uidb64>/<token>/", passwords.password_reset_confirm, name="password_reset_confirm"),
]
