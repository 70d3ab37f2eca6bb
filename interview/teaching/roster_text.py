"""A pasted or uploaded list of people, read as teachers send it: no Django, no database.

Any of `address`, `Name <address>`, `name, address`, several people in one line as mail programs copy them, CSV with or without a header,
separated by comma, semicolon or tab; with a byte order mark, stray spaces, quotes (closed or not) and capitals.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass

ADDRESS = re.compile(r"^[^@\s<>,;]+@[^@\s<>,;]+\.[^@\s<>,;]+$")
ANGLE = re.compile(r"^(?P<name>.*?)\s*<(?P<address>[^<>]+)>$")
HEADERS = {
    "email": {
        *("email", "e-mail", "mail", "email address", "e-mail address", "address", "login", "login id"),
        *("e-mail-adresse", "email-adresse", "adresse e-mail", "courriel", "correo", "correo electrónico"),
    },
    "name": {"name", "full name", "student", "student name", "learner", "display name", "nom complet"},
    "first": {"first name", "firstname", "given name", "forename", "first", "vorname", "prénom", "nombre"},
    "last": {
        *("last name", "lastname", "surname", "family name", "last"),
        *("nachname", "nom", "nom de famille", "apellidos", "apellido(s)"),
    },
    "number": {
        "number",
        "id",
        "student id",
        "id number",
        "student number",
        "matriculation",
        "matrikelnummer",
        "sis user id",
        "org id",
    },
}
LONGEST = 80
SEPARATOR = re.compile(r"sep=([,;\t])", re.IGNORECASE)


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
    first = next((line for line in text.splitlines() if line.strip()), "")
    asked = SEPARATOR.fullmatch(first.strip())
    if asked:  # what Excel writes to itself
        text = text.replace(first, "", 1)
    rows = [(number, row) for number, row in _rows(text, asked[1] if asked else "") if any(row)]
    columns = _header(rows[0][1]) if rows else {}
    if columns:
        return [_person(number, row, columns) for number, row in rows[1:]]
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if _bare(line)]
    return [_person(number, row, {}) for number, line in lines for row in _entries(line)]


def _bare(cell: str) -> str:
    return cell.strip(" \t\u00a0\ufeff\r\n")


def _rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    """A CSV file; one with a quote that is never closed is read line by line, so that it swallows nobody."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = separator or _separator(first)
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True
    )
    rows = []
    try:
        for row in reader:
            rows.append((reader.line_num, [_bare(cell) for cell in row]))
    except csv.Error:  # or a field beyond the reader's limit
        lines = enumerate(text.splitlines(), start=1)
        return [(number, _cells(line, separator)) for number, line in lines]
    return rows


def _separator(line: str) -> str:
    return max(",;\t", key=line.count) if any(sign in line for sign in ",;\t") else ","


def _cells(line: str, separator: str = "") -> list[str]:
    """One line taken apart by itself."""
    if line.count('"') % 2:
        line = line.replace('"', "")
    sign = separator or _separator(line)
    try:
        row = next(csv.reader([line], delimiter=sign, skipinitialspace=True), [])
    except csv.Error:
        row = line.split(sign)
    return [_bare(cell) for cell in row]


def _entries(line: str) -> list[list[str]]:
    """The people of one line: mail programs copy a whole group into one."""
    cells = _cells(line)
    if line.count("@") < 2:
        return [cells]
    parts = [part for part in _cells(line, ";") if part]
    if len(parts) > 1 and all("@" in part for part in parts):
        return [row for part in parts for row in _entries(part)]
    words = line.split()
    if len(words) > 1 and all(ADDRESS.match(word.strip(",;<>")) for word in words):
        return [[word.strip(",;")] for word in words]
    return _grouped(_cells(line, ",")) or [cells]


def _grouped(cells: list[str]) -> list[list[str]]:
    """Cells that each end with somebody's address; none where an address stands among other cells, as in a table's row."""
    groups: list[list[str]] = [[]]
    for cell in cells:
        groups[-1].append(cell)
        if "@" in cell:
            if len(groups[-1]) > 1 and not ANGLE.match(cell):
                return []
            groups.append([])
    return groups[:-1] if not any(groups[-1]) else []


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
    place = next((index for index, cell in enumerate(row) if "@" in cell), None)
    if place is None:
        return Person(line, row[0][:LONGEST], fault="There is no e-mail address in this line.")
    others = [cell for index, cell in enumerate(row) if index != place and cell]
    numbers = [cell for cell in others if any(sign.isdigit() for sign in cell)]
    names = [cell for cell in others if cell not in numbers]
    number, address = numbers[0] if numbers else "", row[place]
    if angle := ANGLE.match(address):  # King, Ada <ada@…>: the given name is the part beside the address
        names, address = [angle["name"].strip("\"' "), *names], angle["address"]
    return _checked(line, address, " ".join(names), number)


def _checked(line: int, address: str, name: str, number: str) -> Person:
    address = address.strip("<>\"'. ").removeprefix("mailto:")
    name = " ".join(name.split())[:LONGEST]
    number = number.strip()[:40]
    if not address:
        return Person(line, "", name, number, "There is no e-mail address in this line.")
    if len(address) > 254 or not ADDRESS.match(address):
        return Person(line, address[:LONGEST], name, number, "This is not an e-mail address.")
    return Person(line, address, name, number)
