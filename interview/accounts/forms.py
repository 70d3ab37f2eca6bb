"""What people fill in about their account."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordResetForm as DjangoPasswordResetForm
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from interview.accounts import mail, services
from interview.accounts.models import User, email_canonical, time_zone_names
from interview.plain_text import is_blank, storable

EMAIL_LIMIT = 254
PASSWORD_LIMIT = 1_000
NAME_LIMIT = 80
TOKEN_NAME_LIMIT = 60
EMAIL_WRONG = "Give an e-mail address such as name@example.org."
LEGACY_ZONES = ("Etc/", "US/", "Brazil/", "Canada/", "Chile/", "Mexico/")


class PlainForm(forms.Form):
    """Labels without a colon; the project's field template draws the rest."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)


class EmailField(forms.EmailField):
    """An address in its one canonical spelling."""

    default_error_messages = {"invalid": EMAIL_WRONG}

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("label", "E-mail")
        attributes = {"autocomplete": "email", "autocapitalize": "none", "spellcheck": "false"}
        kwargs.setdefault("widget", forms.EmailInput(attrs=attributes))
        super().__init__(max_length=EMAIL_LIMIT, **kwargs)

    def clean(self, value: Any) -> str:
        short = isinstance(value, str) and len(value) <= 4 * EMAIL_LIMIT
        canonical = self._canonical(value) if value and short else value
        cleaned: str = super().clean(canonical)
        return cleaned

    def _canonical(self, value: str) -> str:
        try:
            return email_canonical(value)
        except UnicodeError as error:
            raise ValidationError(EMAIL_WRONG, code="invalid") from error


class PasswordField(forms.CharField):
    """A password exactly as typed; `purpose` is what password managers go by."""

    def __init__(self, *, purpose: str, **kwargs: Any) -> None:
        kwargs.setdefault("label", "Password")
        widget = forms.PasswordInput(attrs={"autocomplete": purpose})
        super().__init__(strip=False, max_length=PASSWORD_LIMIT, widget=widget, **kwargs)


class NameField(forms.CharField):
    """Text of one line that shows something, or nothing at all."""

    def clean(self, value: Any) -> str:
        one_line = " ".join(storable(str(value)).split()) if value and "\x00" not in str(value) else value
        seen = "" if isinstance(one_line, str) and is_blank(one_line) else one_line
        if isinstance(seen, str) and any(_invisible_control(character) for character in seen):
            raise ValidationError("Leave out control characters: they can't be shown.", code="control")
        cleaned: str = super().clean(seen)
        return cleaned


def _invisible_control(character: str) -> bool:
    """Control characters and those that turn the direction of the text around them; NUL has its own message."""
    if character == "\x00":
        return False
    return (
        unicodedata.category(character) == "Cc"
        or character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


def new_password(*, required_help: str = "At least 10 characters.") -> PasswordField:
    """The one field for a password that is being chosen."""
    return PasswordField(purpose="new-password", help_text=required_help)


class SignUpForm(PlainForm):
    """An account: address, password, and what to be called."""

    email = EmailField()
    password = new_password()
    name = NameField(
        required=False,
        max_length=NAME_LIMIT,
        label="Name",
        help_text="As your class or teacher knows you.",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    time_zone = forms.CharField(
        required=False, widget=forms.HiddenInput(attrs={"data-time-zone": True, "autocomplete": "off"})
    )

    def clean_time_zone(self) -> str:
        """The browser's guess; one that means nothing here is no fault of who signs up."""
        guess: str = self.cleaned_data["time_zone"]
        return guess if guess in time_zone_names() else "UTC"

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if "time_zone" in self.errors:  # a hidden field never stands in the way
            del self.errors["time_zone"]
            data["time_zone"] = "UTC"
        if "password" in data:
            user = User(email=data.get("email"), name=data.get("name", ""))
            _check_password(self, "password", data["password"], user)
        return data


def _check_password(form: forms.Form, field: str, password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        form.add_error(field, error)


class SignInForm(PlainForm):
    """Address and password."""

    email = EmailField()
    password = PasswordField(purpose="current-password")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].widget.attrs["autocomplete"] = "username"


class CurrentPasswordForm(PlainForm):
    """A form that asks who sits at the keyboard; the view counts the try before it asks."""

    current_password = PasswordField(purpose="current-password", label="Current password")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_current_password(self) -> str:
        password: str = self.cleaned_data["current_password"]
        if not self.user.check_password(password):
            raise ValidationError("That is not your current password.", code="wrong")
        return password


class PasswordChangeForm(CurrentPasswordForm):
    """A new password, after the old one."""

    new_password = PasswordField(
        purpose="new-password", label="New password", help_text="At least 10 characters."
    )

    def clean_new_password(self) -> str:
        password: str = self.cleaned_data["new_password"]
        validate_password(password, self.user)
        return password


class EmailChangeForm(CurrentPasswordForm):
    """Another address; it counts once the letter sent there was answered."""

    email = EmailField(label="New e-mail address")
    field_order = ["email", "current_password"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.user.has_usable_password():  # a learning platform's account has none to ask for
            del self.fields["current_password"]


class PasswordResetForm(DjangoPasswordResetForm):
    """Django's form, with the address in canonical spelling and the letter sent in the background."""

    email = EmailField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)

    def get_users(self, email: str) -> Iterator[User]:
        """Also who never had a password: an account that a learning platform made and that has got an address since."""
        yield from User.objects.filter(email=email, is_guest=False, is_active=True)

    def send_mail(
        self,
        subject_template_name: str,
        email_template_name: str,
        context: dict[str, Any],
        from_email: str | None,
        to_email: str,
        html_email_template_name: str | None = None,
    ) -> None:
        subject = "Choose a new password for Prefill"
        mail.send_soon(
            mail.letter(to=to_email, subject=subject, template="password_reset.txt", context=context)
        )


class NewPasswordForm(PlainForm):
    """The new password after a reset; Django's confirmation view hands over the user."""

    password = new_password()

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        validate_password(password, self.user)
        return password

    def save(self) -> User:
        services.password_set(user=self.user, password=self.cleaned_data["password"], revoke_tokens=True)
        return self.user


class ProfileForm(PlainForm):
    """How an account is shown, and where its days begin."""

    name = NameField(
        required=False, max_length=NAME_LIMIT, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    time_zone = forms.ChoiceField(
        label="Time zone",
        help_text="Review dates and deadlines are shown in this zone.",
        error_messages={"invalid_choice": "Choose a time zone from the list."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone = self.fields["time_zone"]
        assert isinstance(zone, forms.ChoiceField)
        zone.choices = zone_choices(str(self.initial.get("time_zone", "UTC")))


def zone_choices(current: str) -> list[tuple[str, Any]]:
    """Zones by region; the one in use is always among them."""
    names = sorted(name for name in time_zone_names() if "/" in name and not name.startswith(LEGACY_ZONES))
    regions: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        region, _, city = name.partition("/")
        regions.setdefault(region, []).append((name, city.replace("_", " ").replace("/", ", ")))
    outside = [(name, name) for name in dict.fromkeys(["UTC", current]) if name not in names]
    return [*outside, *regions.items()]


class TokenForm(PlainForm):
    """What a token is for, so that its owner knows later which one to revoke."""

    name = NameField(
        max_length=TOKEN_NAME_LIMIT,
        label="Name",
        help_text="Where you will use it, such as “laptop” or “class script”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class DeleteForm(PlainForm):
    """The word that shows deleting is meant: the account's address, or “delete” for a guest."""

    confirm = forms.CharField(
        max_length=EMAIL_LIMIT,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )

    def __init__(self, *args: Any, owner: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expected = owner.email or "delete"
        self.fields["confirm"].label = f"Type {self.expected} to confirm"

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"]
        if typed.strip().lower() != self.expected:
            raise ValidationError(f"Type {self.expected} exactly. Nothing was deleted.", code="different")
        return typed
