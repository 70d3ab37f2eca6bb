"""Addresses of the calculators and their short links."""

from __future__ import annotations

from django.urls import URLPattern, path

from interview.calculators import links, proofs, saved, views

app_name = "calculators"
urlpatterns: list[URLPattern] = [
    path("calculators/", views.index, name="index"),
    path("calculators/accuracy/", views.accuracy, name="accuracy"),
    path("calculators/measured/", proofs.proof, name="proof"),
    path("calculators/kept/<int:pk>/delete/", saved.forget, name="forget"),
    path("calculators/<slug:slug>/", views.show, name="show"),
    path("calculators/<slug:slug>/card.png", views.card_png, name="card"),
    path("calculators/<slug:slug>/config/", views.config, name="config"),
    path("calculators/<slug:slug>/keep/", saved.keep, name="keep"),
    path("calculators/<slug:slug>/measure/", proofs.start, name="measure"),
    path("c/", links.create, name="share"),
    path("c/<str:link_id>", links.open_link, name="open"),
    path("c/<str:link_id>/delete/", links.delete, name="delete"),
]
