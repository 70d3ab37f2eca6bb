"""What a loaded tokenizer leaves in the process that serves pages."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
from django.test import Client

from interview.calculators.formulas import encodings
from interview.calculators.formulas.shelf import Shelf

MEGABYTE = 1_000_000
LOAD = """
import psutil
from interview.calculators.formulas import encodings
before = psutil.Process().memory_info().rss
encodings.ids_of("{name}", "a few words")
print(psutil.Process().memory_info().rss - before)
"""


@pytest.mark.parametrize(("name", "most"), [("cl100k_base", 30), ("o200k_base", 60), ("local", 30)])
def test_a_tokenizer_keeps_one_copy_and_none_of_its_file(name: str, most: int) -> None:
    added = int(subprocess.check_output([sys.executable, "-c", LOAD.format(name=name)], text=True))
    assert added < most * MEGABYTE


LEAVE = """
import time
import psutil
from interview.calculators.formulas import encodings
encodings.SHELF.seconds = 8.0
encodings.ids_of("r50k_base", "warm up what every tokenizer shares")
encodings.SHELF.clear()
before = psutil.Process().memory_info().rss
for name in ("cl100k_base", "o200k_base", "o200k_harmony", "llama3"):
    encodings.ids_of(name, "a few words")
most = psutil.Process().memory_info().rss - before
until = time.monotonic() + 60
while encodings.SHELF.names() and time.monotonic() < until:
    time.sleep(0.1)
time.sleep(0.5)
print(most, psutil.Process().memory_info().rss - before)
"""


def test_tokenizers_nobody_asks_for_give_their_memory_back() -> None:
    most, left = map(int, subprocess.check_output([sys.executable, "-c", LEAVE], text=True).split())
    assert most > 70 * MEGABYTE
    assert left < 15 * MEGABYTE


def test_what_is_asked_for_stays_and_the_rest_goes() -> None:
    read: list[str] = []

    def reader(name: str) -> object:
        read.append(name)
        return object()

    shelf = Shelf(reader, 2.0)
    first, _ = shelf.get("asked"), shelf.get("left")
    until = time.monotonic() + 30
    while "left" in shelf.names() and time.monotonic() < until:
        assert shelf.get("asked") is first
        time.sleep(0.02)
    assert shelf.names() == {"asked"} and read == ["asked", "left"]
    while shelf.names() and time.monotonic() < until:
        time.sleep(0.02)
    assert not shelf.names() and shelf.get("asked") is not first


def test_many_who_ask_at_once_read_once() -> None:
    read: list[str] = []

    def reader(name: str) -> object:
        read.append(name)
        time.sleep(0.05)
        return object()

    shelf = Shelf(reader, 60)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(shelf.get("one"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == ["one"] and len(set(map(id, found))) == 1
    shelf.clear()


def test_what_is_wanted_soon_is_read_beside_and_a_failure_isnt_waited_for() -> None:
    may = threading.Event()

    def reader(name: str) -> object:
        may.wait(10)
        if name == "damaged":
            raise ValueError("damaged")
        return object()

    shelf = Shelf(reader, 60.0)
    assert shelf.soon(["a", "damaged", "b"]) == {"a", "damaged", "b"}
    assert shelf.soon(["a"]) == {"a"}
    may.set()
    until = time.monotonic() + 10
    while shelf.soon(["a", "damaged", "b"]) and time.monotonic() < until:
        time.sleep(0.01)
    assert shelf.names() == {"a", "b"}
    with pytest.raises(ValueError, match="damaged"):
        shelf.get("damaged")


@pytest.mark.django_db
def test_a_page_of_all_tokenizers_comes_at_once_and_fills_up(client: Client) -> None:
    encodings.SHELF.clear()
    query = {"text": "hello", "compare": "all"}
    first = client.get("/calculators/tokens/", query).content.decode()
    assert "to go:" in first and 'hx-select="#tables"' in first and 'http-equiv="refresh"' in first
    until = time.monotonic() + 60
    while encodings.SHELF.soon(encodings.vocabularies()) and time.monotonic() < until:
        time.sleep(0.05)
    last = client.get("/calculators/tokens/", query).content.decode()
    assert "to go:" not in last and 'http-equiv="refresh"' not in last
    said = client.get("/api/v1/calculators/tokens", query).json()
    table = next(t for t in said["tables"] if t["caption"].startswith("The same text"))
    assert len(table["rows"]) == len(encodings.vocabularies())
    assert all(str(row[0]) in last for row in table["rows"])
