"""The JSON of the calculators, and the command line, against the contract."""

from __future__ import annotations

import io
import json
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.html import escape

from interview.calculators.formulas.registry import CALCULATORS, run
from tests.interview.calculators.strategies import HOSTILE

pytestmark = pytest.mark.django_db
API = "/api/v1/calculators"
CONFIG = {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32}


def test_the_list_describes_every_parameter(client: Client) -> None:
    listed = client.get(API).json()
    assert [row["calculator"] for row in listed] == list(CALCULATORS)
    kv = next(row for row in listed if row["calculator"] == "kv-cache")
    assert {p["name"] for p in kv["parameters"]} == {p.name for p in CALCULATORS["kv-cache"].parameters}


@pytest.mark.parametrize("slug", list(CALCULATORS))
def test_the_contract(client: Client, slug: str) -> None:
    answer = client.get(f"{API}/{slug}").json()
    assert {"calculator", "inputs", "results", "steps", "warnings", "url"} <= set(answer)
    assert answer["calculator"] == slug and answer["url"] == f"http://testserver/calculators/{slug}/?v=1"
    assert all({"label", "expression", "value", "unit"} == set(step) for step in answer["steps"])


def test_base_units_and_a_link_that_reads_back(client: Client) -> None:
    answer = client.get(f"{API}/kv-cache?layers=96&kv_heads=8&head_dim=128&tokens=4096&dtype=fp16").json()
    assert answer["results"]["bytes"] == 1_610_612_736
    assert answer["results"]["bytes_per_token"] == 393_216
    assert answer["inputs"]["model"] == "own" and answer["inputs"]["kv_heads"] == 8
    page = client.get(answer["url"].replace("http://testserver", ""))
    assert b"1.611" in page.content
    again = client.get(f"{API}/kv-cache?{answer['url'].partition('?')[2]}").json()
    assert again == answer


def test_unknown_and_bad_parameters_are_422_each_with_its_place(client: Client) -> None:
    response = client.get(f"{API}/kv-cache?tokens=NaN&batch=2")
    assert response.status_code == 422
    detail = response.json()["detail"]
    assert [d["loc"] for d in detail] == [["query", "batch"], ["query", "tokens"]]
    assert all(d["msg"] for d in detail)


def test_a_body_may_hold_the_parameters(client: Client) -> None:
    body = {"model": "openai/gpt-3-175b", "tokens": 4096}
    answer = client.post(f"{API}/kv-cache", body, content_type="application/json")
    assert answer.json()["results"]["bytes"] == 19_327_352_832
    wrong = client.post(f"{API}/kv-cache", {"tokens": [1], "x": {}}, content_type="application/json")
    assert wrong.status_code == 422 and wrong.json()["detail"][0]["loc"][0] == "body"


def test_unknown_calculators_are_404_with_a_code(client: Client) -> None:
    response = client.get(f"{API}/nothing")
    assert response.status_code == 404 and response.json()["code"] == "not_found"


@pytest.mark.parametrize("slug", list(CALCULATORS))
def test_hostile_values_are_answered_in_json(client: Client, slug: str) -> None:
    for parameter in CALCULATORS[slug].parameters:
        for value in HOSTILE:
            body = json.dumps({parameter.name: value})
            response = client.post(f"{API}/{slug}", body, content_type="application/json")
            assert response.status_code in (200, 422)
            response.json()


def command(*arguments: str, **options: object) -> str:
    out = io.StringIO()
    call_command("calculate", *arguments, stdout=out, **options)
    return out.getvalue()


def test_the_command_line_says_the_same() -> None:
    answer = json.loads(command("kv-cache", "model=gpt-3-175b", "tokens=4096", "--json"))
    assert answer["results"]["bytes"] == 19_327_352_832
    assert answer["url"].endswith("/calculators/kv-cache/?v=1&model=openai/gpt-3-175b&tokens=4096")
    assert "19.327 GB (18.0 GiB)" in command("kv-cache", "model=gpt-3-175b", "tokens=4096")


@pytest.mark.parametrize("slug", list(CALCULATORS))
def test_page_command_line_and_json_agree(client: Client, slug: str) -> None:
    presets = [parse_qsl(p.query, keep_blank_values=True) for p in CALCULATORS[slug].presets]
    for pairs in ([], *presets):
        answer = client.get(f"{API}/{slug}", dict(pairs)).json()
        said = json.loads(command(slug, *(f"{name}={value}" for name, value in pairs), "--json"))
        assert said["url"].partition("?")[2] == answer["url"].partition("?")[2]
        assert said | {"url": ""} == answer | {"url": ""}
        page = client.get(f"/calculators/{slug}/", dict(pairs)).content.decode()
        outcome = run(CALCULATORS[slug], dict(pairs))
        assert outcome.result and f'id="headline">{escape(outcome.result.headline.value)}<' in page


def test_the_command_line_gives_refusals_as_json_too() -> None:
    out = io.StringIO()
    with pytest.raises(CommandError, match="tokens: "):
        call_command("calculate", "kv-cache", "tokens=NaN", "batch=2", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert answer["code"] == "invalid_input"
    assert [d["loc"] for d in answer["detail"]] == [["query", "batch"], ["query", "tokens"]]


def test_what_a_config_holds_is_noticed_beside_the_answer(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG | {"sliding_window": 4096, "use_sliding_window": False}))
    notices = io.StringIO()
    said = command("kv-cache", "--json", config=str(config), stderr=notices)
    assert json.loads(said)["inputs"]["model"] == "own"
    assert "config: sliding_window is 4096, but use_sliding_window is false" in notices.getvalue()
    assert "attention" in command("attention", "vocabulary=1000", config=str(config), stderr=notices)
    with pytest.raises(CommandError, match="loss reads no config"):
        command("loss", config=str(config))


def test_the_command_line_reads_files(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    assert "16.777 GB" in command("kv-cache", "tokens=128000", config=str(config))
    (tmp_path / "n").write_text("4096")
    assert "0.537 GB" in command("kv-cache", f"tokens=@{tmp_path / 'n'}")


@pytest.mark.parametrize(
    "arguments",
    [("nothing",), ("kv-cache", "tokens"), ("kv-cache", "tokens=x"), ("kv-cache", "tokens=@/nothing")],
)
def test_the_command_line_names_what_is_wrong(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        command(*arguments)


def test_a_file_that_is_no_text_is_refused_in_one_line(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="not UTF-8 text"):
        call_command("calculate", "tokens", f"text=@{binary}")
    with pytest.raises(CommandError, match="not UTF-8 text"):
        call_command("calculate", "kv-cache", config=str(binary))
