"""Where nothing is sent: whatever isn't https to the public internet, however it is dressed up."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from django.test import override_settings

from interview.webhooks.addresses import AddressRefused, Target, connectable, is_public, target_of


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "https://",
        "https:///path",
        f"https://{'a' * 64}.org/",
        f"https://{'a.' * 127}org/",
        "https://a..org/",
        "//example.org/",
        "https://example.org:8443/",
        "https://example.org:22/",
        "https://example.org:99999/",
        "https://user:secret@example.org/",
        "https://example.org\\@127.0.0.1/",
        "https://exa mple.org/",
        "https://exämple.org/",
        "https://example.org/\r\nHost: x",
        "https://127.0.0.1/",
        "https://10.1.2.3/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[fd00::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://example.org/" + "x" * 500,
    ],
)
def test_no_address_for_a_webhook(url: str) -> None:
    with pytest.raises(AddressRefused):
        target_of(url)


def test_an_address_taken_apart() -> None:
    found = target_of("https://Grades.Example.org./in?class=7#part")
    assert found == Target("grades.example.org", 443, "/in?class=7", False)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("172.16.5.5", False),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("192.0.2.1", False),
        ("198.18.0.1", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("::10.0.0.1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::5db8:d70e", True),
        ("64:ff9b:1::1", False),
        ("2002:a00:1::", False),
        ("2001:0:4136:e378:8000:63bf:f5ff:fffe", False),  # Teredo of 10.0.0.1
        ("fe80::1%eth0", False),
        ("fec0::1", False),
        ("fd12::1", False),
        ("ff02::1", False),
        ("2001:db8::1", False),
        ("nonsense", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f000001", "127.1", "0177.0.0.1"])
def test_a_name_that_leads_inside_is_refused_when_it_is_sent(host: str) -> None:
    with pytest.raises(AddressRefused, match=r"private network|no host"):
        connectable(target_of(f"https://{host}/"))


def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: Any = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 443)) for ip in ("93.184.215.14", "10.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)
    with pytest.raises(AddressRefused, match="private network"):
        connectable(target_of("https://example.org/"))


@override_settings(WEBHOOK_PRIVATE_HOSTS=["grades.school.internal", "localhost"])
def test_the_operators_own_hosts_may_be_private_but_speak_https() -> None:
    assert target_of("https://localhost:8443/").trusted
    assert "127.0.0.1" in connectable(target_of("https://localhost:8443/"))
    with pytest.raises(AddressRefused):
        target_of("http://localhost:8443/")
