"""Everything somebody owns as one JSON document, row by row, so that a large account fits in memory."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from typing import IO, Any, TextIO

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils import timezone

from interview.accounts.models import User
from interview.accounts.owned import owned_rows

FORMAT = "prefill-export-1"
CHUNK = 200
IN_MEMORY = 1_000_000  # bytes of an export; a larger one goes through a temporary file


def row_as_dict(row: models.Model) -> dict[str, Any]:
    """A row's own columns; what its model lists in EXPORT_EXCLUDES (secrets) stays out."""
    excluded = getattr(row, "EXPORT_EXCLUDES", ())
    return {
        field.attname: _plain(getattr(row, field.attname))
        for field in row._meta.concrete_fields
        if field.name not in excluded
    }


def _plain(value: Any) -> Any:
    if isinstance(value, models.fields.files.FieldFile):
        return _file(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(bytes(value)).decode("ascii")}
    return value


def _file(file: models.fields.files.FieldFile) -> dict[str, str] | None:
    if not file:
        return None
    try:
        with file.open("rb") as handle:
            content = base64.b64encode(handle.read()).decode("ascii")
    except OSError:  # the row outlived its file: say which one instead of failing the whole export
        return {"name": file.name or "", "missing": "The stored file is gone."}
    return {"name": file.name or "", "base64": content}


def account_export(*, owner: User, to: TextIO) -> int:
    """Write the document to a text stream; the number of rows in it."""
    owners = (owner, *owner.merged_guests.all())
    head = {"format": FORMAT, "exported": timezone.now(), "account": row_as_dict(owner)}
    to.write(_json(head)[:-1] + ', "rows": {')
    n_rows = 0
    for index, (model, rows) in enumerate(owned_rows(*owners)):
        to.write((", " if index else "") + f"\n{_json(model._meta.label_lower)}: [")
        for position, row in enumerate(rows.iterator(chunk_size=CHUNK)):
            to.write((",\n" if position else "\n") + _json(row_as_dict(row)))
            n_rows += 1
        to.write("]")
    to.write("}}\n")
    return n_rows


def export_file(owner: User) -> IO[bytes]:
    """The document in a temporary file, positioned at its end; the caller closes it."""
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (closed when it was sent)
    # A lone surrogate inside stored JSON becomes the JSON escape it came from.
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="\n")
    account_export(owner=owner, to=text)
    text.flush()
    text.detach()
    return file


def _json(value: Any) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
