"""The benchmark measures what it says, on the real model, with few repetitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine import bench, bench_own, bench_table
from engine.bench_prompts import ids_of, prompt_of
from engine.errors import InvalidRequest
from engine.llm import Engine


def run(monkeypatch: pytest.MonkeyPatch, capsys: Any, models_dir: Path, *argv: str) -> Any:
    monkeypatch.setenv("PREFILL_MODELS_DIR", str(models_dir))
    monkeypatch.setattr(bench, "STREAMS", (2,))
    monkeypatch.setattr(bench, "PROMPTS", (50,))
    assert bench.main(["--rounds", "1", "--tokens", "6", "--json", *argv]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_engine_beside_transformers(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, models_dir: Path
) -> None:
    only = [f"--only={name}" for name in ("decode", "first-token", "concurrent")]
    found = run(monkeypatch, capsys, models_dir, "--against", "transformers", *only)
    assert found["about"]["sha256"].startswith("b179c952")
    for name in ("decode", "ttft_50", "total_2"):
        entry = found["measures"][name]
        own, peer = entry["value"], entry["peers"]["transformers"]
        better = own / peer if name != "ttft_50" else peer / own
        assert own > 0 and entry["ratio"]["transformers"] == pytest.approx(better)
    assert "decode" in bench.table(found) and "ratio" in bench.table(found)


def test_the_measures_without_a_peer(monkeypatch: pytest.MonkeyPatch, capsys: Any, models_dir: Path) -> None:
    only = [f"--only={name}" for name in ("prefix", "speculation", "load")]
    found = run(monkeypatch, capsys, models_dir, *only)["measures"]
    assert found["prefix_gain"]["value"] > 2
    assert found["speculation_accepted"]["value"] > 50
    assert found["memory"]["value"] < 1000
    assert found["load_warm"]["value"] < found["load_cold"]["value"]


def test_int4_stays_close_to_bf16(monkeypatch: pytest.MonkeyPatch, engine: Engine, models_dir: Path) -> None:
    monkeypatch.setattr(bench_own, "FORMS", ("int4",))
    found = bench_own.quality(bench_own.Own(engine, engine.card.name, models_dir, 2), 1)
    assert found["top1_int4"]["value"] > 95
    assert 0 <= found["kl_int4"]["value"] < 0.01
    assert bench_own.weight_bytes(engine.decoder) < 110e6


@pytest.mark.parametrize("size", [1, 50, 333])
def test_prompts_have_the_size_asked_for(engine: Engine, size: int) -> None:
    texts = [prompt_of(engine.tokenizer, size, variant) for variant in range(3)]
    assert [len(ids_of(engine.tokenizer, text)) for text in texts] == [size] * 3


def test_a_peer_that_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, models_dir: Path
) -> None:
    from engine import bench_peers

    monkeypatch.setenv("PREFILL_MODELS_DIR", str(models_dir))
    monkeypatch.setattr(bench_peers, "find_spec", lambda name: None)
    assert bench.main(["--against", "llama.cpp", "--only", "decode"]) == 1
    assert "pip install" in capsys.readouterr().out


DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def test_the_manual_s_table_is_the_saved_results(capsys: Any) -> None:
    assert bench.main(["--saved", str(DOCS / "engine-bench.json")]) == 0
    table = capsys.readouterr().out.strip()
    assert table in (DOCS / "engine.md").read_text()


@pytest.mark.parametrize("text", [None, "no JSON", "[1]", "{}"])
def test_a_file_without_results_is_named(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "results.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InvalidRequest, match=r"results\.json holds no results"):
        bench_table.read([file])


def test_a_target_is_reached_or_missed_by_the_figure() -> None:
    def row(gain: float, extra: float) -> str:
        entry = {
            "value": 10.0,
            "unit": "tokens/s",
            "peers": {"transformers": 10 / gain},
            "ratio": {"transformers": gain},
        }
        measures = {"decode": entry, "constraint_extra": {"value": extra, "unit": "%"}}
        return bench_table.markdown({"measures": measures})

    assert "2.5× reached, 1.0× **missed**" in row(2.5, 6) and "≤ 5 **missed**" in row(2.5, 6)
    assert "2.5× **missed**" in row(2.49, 5) and "≤ 5 reached" in row(2.49, 5)
