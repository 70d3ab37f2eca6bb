"""Gradebooks as files that open the same everywhere: no formula runs, no number becomes a date, names stay whole."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

Value = str | int | Decimal | None
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
# The wide forms too: spreadsheets set to an East Asian language take them for the narrow ones.
STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", *"＝＋－＠")
BLANKS = " \u00a0\u200b\ufeff"  # some programs trim these before they look
# A spreadsheet that expects another separator begins a new cell there: “Zoë;=1+1” would be a formula in half of Europe.
INNER_FORMULA = re.compile(r"([,;|\t\r\n][\"'\s]*)(?=[-=+@＝＋－＠])")
# Languages whose spreadsheets read 1.33 as a date or a text: they get 1,33 and semicolons.
COMMA = frozenset(
    [
        "az",
        "be",
        "bg",
        "bs",
        "ca",
        "cs",
        "da",
        "de",
        "el",
        "es",
        "et",
        "eu",
        "fi",
        "fr",
        "gl",
        "hr",
        "hu",
        "hy",
        "id",
        "is",
        "it",
        "ka",
        "kk",
        "lt",
        "lv",
        "mk",
        "nb",
        "nl",
        "nn",
        "no",
        "pl",
        "pt",
        "ro",
        "ru",
        "sk",
        "sl",
        "sq",
        "sr",
        "sv",
        "tr",
        "uk",
        "uz",
        "vi",
    ]
)


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula; a plain number stays one."""
    if NUMBER.fullmatch(text):
        return text
    if text.startswith(STARTS_FORMULA):
        return f"'{text[0]}" + INNER_FORMULA.sub(r"\1'", text[1:])
    text = INNER_FORMULA.sub(r"\1'", text)
    return f"'{text}" if text.lstrip(BLANKS).startswith(STARTS_FORMULA) else text


def decimal_comma(accept_language: str) -> bool:
    """Whether a reader with these languages expects 1,33."""
    first = accept_language.split(",")[0].split(";")[0].strip().lower()
    language, _, region = first.partition("-")
    if first in ("de-ch", "de-li", "es-mx", "es-us", "it-ch"):
        return False
    return language in COMMA or (language == "en" and region == "za")


def csv_file(header: Sequence[str], rows: Iterable[Sequence[Value]], *, comma: bool = False) -> bytes:
    """UTF-8 with its mark; numbers with a point and commas between cells, or a comma and semicolons."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=";" if comma else ",")
    writer.writerow([guarded(cell) for cell in header])
    for row in rows:
        writer.writerow([_cell(value, comma) for value in row])
    return out.getvalue().encode("utf-8-sig")


def _cell(value: Value, comma: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return guarded(value)
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    return text.replace(".", ",") if comma else text


def xlsx_file(title: str, header: Sequence[str], rows: Iterable[Sequence[Value]]) -> bytes:
    """A workbook: numbers are numbers in every locale, text is text whatever it starts with."""
    # Here, not above: openpyxl takes 20 MB of every web process, and few ask for a workbook.
    from openpyxl import Workbook
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    book = Workbook()
    sheet = book.active
    sheet.title = re.sub(r"[\[\]:*?/\\]", " ", title)[:31].strip("' ") or "Gradebook"
    for line, row in enumerate([header, *rows], start=1):
        for column, value in enumerate(row, start=1):
            cell = sheet.cell(line, column)
            if isinstance(value, str):
                cell.value = _printable(value)
                cell.data_type = "s"
            elif value is not None:
                cell.value = value
                if isinstance(value, Decimal):
                    cell.number_format = "0.00"
            if line == 1:
                cell.font = Font(bold=True)
    sheet.freeze_panes = "C2"
    for column in range(1, len(header) + 1):
        sheet.column_dimensions[get_column_letter(column)].width = 22 if column <= 4 else 12
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _printable(text: str) -> str:
    """Without what XML can't hold: one such sign and no program opens the file."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)[:32_000]
