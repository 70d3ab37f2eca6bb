"""The embedded Valkey keeps data over a restart and refuses a second owner."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from interview.runs.valkey import EmbeddedValkey, ValkeyFailed


def test_data_survives_a_restart(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path)
    server.start()
    redis.Redis.from_url(server.url).set("kept", "yes")
    server.stop()
    server.start()
    assert redis.Redis.from_url(server.url).get("kept") == b"yes"
    server.stop()


def test_a_second_start_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    first = EmbeddedValkey(tmp_path)
    first.start()
    with pytest.raises(ValkeyFailed, match="Another Prefill is running"):
        EmbeddedValkey(tmp_path).start()
    first.stop()


def test_a_deep_folder_gets_a_short_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    server = EmbeddedValkey(deep)
    assert len(str(server.socket)) < 100
    server.start()
    assert server.answers()
    server.stop()
