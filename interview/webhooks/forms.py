"""What is filled in about a webhook."""

from __future__ import annotations

from django import forms

from interview.accounts.forms import PlainForm
from interview.webhooks.addresses import LONGEST, AddressRefused, target_of


class WebhookForm(PlainForm):
    """An address."""

    url = forms.CharField(
        max_length=LONGEST,
        label="Address",
        help_text="https, on port 443, of a server in the public internet.",
        widget=forms.URLInput(attrs={"autocomplete": "off", "placeholder": "https://example.org/grades"}),
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"].strip()
        try:
            target_of(url)
        except AddressRefused as refusal:
            raise forms.ValidationError(str(refusal)) from refusal
        return url
