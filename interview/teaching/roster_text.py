"""A pasted or uploaded list of people, read as teachers send it: no Django, no database.

Any of `address`, `Name <address>`, `name, address`, CSV with or without a header, separated by comma, semicolon or tab;
with a byte order mark, stray spaces, quotes and capitals.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

ADDRESS = re.compile(r"^[^@\s<>,;]+@[^@\s<>,;]+\.[^@\s<>,;]+$")
ANGLE = re.compile(r"^(?P<name>.*?)\s*<(?P<address>[^<>]+)>$")
HEADERS = {
    "email": {"email", "e-mail", "mail", "email address", "e-mail address", "address", "login", "login id"},
    "name": {"name", "full name", "student", "student name", "learner", "display name"},
    "first": {"first name", "firstname", "given name", "forename", "first"},
    "last": {"last name", "lastname", "surname", "family name", "last"},
    "number": {
        "number",
        "id",
        "student id",
        "id number",
        "student number",
        "matriculation",
        "sis user id",
        "org id",
    },
}
LONGEST = 80


@dataclass(frozen=True)
class Person:
    """One line of a roster; `fault` says why it can't be used."""

    line: int
    email: str
    name: str = ""
    number: str = ""
    fault: str = ""


def decoded(data: bytes) -> str:
    """Text of an uploaded file: UTF-8 or UTF-16 by its mark, else UTF-8, else Windows-1252."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def people_in(text: str) -> list[Person]:
    """Every line that names somebody, in order, faulty ones too."""
    text = text.lstrip("\ufeff").replace("\x00", "")
    rows = [
        (number, [cell.strip(" \t\u00a0\ufeff") for cell in row])
        for number, row in _rows(text)
        if any(cell.strip() for cell in row)
    ]
    columns = _header(rows[0][1]) if rows else {}
    return [_person(number, row, columns) for number, row in (rows[1:] if columns else rows)]


def _rows(text: str) -> list[tuple[int, list[str]]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(",;\t", key=first.count) if any(sign in first for sign in ",;\t") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    rows = []
    try:
        for row in reader:
            rows.append((reader.line_num, row))
    except csv.Error:  # an unclosed quote or a field beyond the reader's limit: line by line then
        rows = [(number, line.split(separator)) for number, line in enumerate(text.splitlines(), start=1)]
    return rows


def _header(cells: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, cell in enumerate(cells):
        word = " ".join(cell.lower().replace("_", " ").strip(":").split())
        for column, words in HEADERS.items():
            if word in words and column not in found:
                found[column] = index
                break
    return found if "email" in found else {}


def _person(line: int, row: list[str], columns: dict[str, int]) -> Person:
    if columns:
        get = {name: row[index] if index < len(row) else "" for name, index in columns.items()}
        name = get.get("name") or " ".join(part for part in (get.get("first"), get.get("last")) if part)
        return _checked(line, get["email"], name, get.get("number", ""))
    if len(row) == 1 and (angle := ANGLE.match(row[0])):
        return _checked(line, angle["address"], angle["name"].strip("\"' "), "")
    place = next((index for index, cell in enumerate(row) if "@" in cell), None)
    if place is None:
        return Person(line, row[0][:LONGEST], fault="There is no e-mail address in this line.")
    if angle := ANGLE.match(row[place]):
        return _checked(line, angle["address"], angle["name"].strip("\"' "), "")
    others = [cell for index, cell in enumerate(row) if index != place and cell]
    numbers = [cell for cell in others if any(sign.isdigit() for sign in cell)]
    names = [cell for cell in others if cell not in numbers]
    return _checked(line, row[place], " ".join(names), numbers[0] if numbers else "")


def _checked(line: int, address: str, name: str, number: str) -> Person:
    address = address.strip().strip("<>").removeprefix("mailto:")
    name = " ".join(name.split())[:LONGEST]
    number = number.strip()[:40]
    if not address:
        return Person(line, "", name, number, "There is no e-mail address in this line.")
    if len(address) > 254 or not ADDRESS.match(address):
        return Person(line, address[:LONGEST], name, number, "This is not an e-mail address.")
    return Person(line, address, name, number)
