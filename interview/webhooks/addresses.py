"""Where a webhook may go: https, to addresses of the public internet, judged by what the name resolves to when it is sent."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host

LONGEST = 500
LONGEST_HOST, LONGEST_LABEL = 253, 63  # RFC 1035
HTTPS_PORT = 443
UNICAST = ipaddress.IPv6Network("2000::/3")  # what is given out for the internet
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
NAT64_LOCAL = ipaddress.IPv6Network("64:ff9b:1::/48")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(ValueError):
    """An address that nothing is sent to; says why."""


@dataclass(frozen=True)
class Target:
    """An address taken apart; `trusted` hosts are the operator's own (WEBHOOK_PRIVATE_HOSTS)."""

    host: str
    port: int
    path: str
    trusted: bool


def target_of(url: str) -> Target:
    """Take an address apart. Raises AddressRefused."""
    if not url.isascii() or not url.isprintable() or set(url) & set("\\@ ") or len(url) > LONGEST:
        raise AddressRefused(
            "Give an address such as https://example.org/grades: ASCII, without a space or a password."
        )
    try:
        parts = urlsplit(url)
        port = parts.port or HTTPS_PORT
    except ValueError as error:
        raise AddressRefused("This is not an address. One looks like https://example.org/grades.") from error
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme != "https" or not host:
        raise AddressRefused("The address must begin with https:// and a host.")
    if len(host) > LONGEST_HOST or any(not 0 < len(label) <= LONGEST_LABEL for label in host.split(".")):
        raise AddressRefused(f"No host has such a name: {LONGEST_LABEL} characters at most between two dots.")
    trusted = validate_host(host, settings.WEBHOOK_PRIVATE_HOSTS)
    if not trusted and port != HTTPS_PORT:
        raise AddressRefused("Leave the port out: only 443, the one of https, is used.")
    if not trusted and _is_literal(host) and not is_public(host):
        raise AddressRefused(f"{host} is no address of the public internet.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(host, port, path, trusted)


def connectable(target: Target) -> list[str]:
    """What the host's name means now. Raises AddressRefused when any of it lies in a private network."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefused(f"There is no host {target.host}.") from error
    addresses = list(dict.fromkeys(str(row[4][0]) for row in found))
    if not target.trusted and not all(is_public(address) for address in addresses):
        raise AddressRefused(f"{target.host} leads into a private network, where nothing is sent.")
    return addresses


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_public(text: str) -> bool:
    """Whether an address lies in the public internet, also when it is wrapped into an IPv6 one."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    inner = _wrapped(address)
    if inner is not None:
        return is_public(str(inner))
    if isinstance(address, ipaddress.IPv6Address) and address not in UNICAST:
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _wrapped(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that a gateway would send an IPv6 one to."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in NAT64_LOCAL:
        return ipaddress.IPv4Address("127.0.0.1")
    if address in NAT64 or int(address) < 2**32:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
