"""The calculator pages: page, fragment, frame, card; whatever is typed is answered quickly and kept."""

from __future__ import annotations

import html
import io
import re
import time
from typing import Any

import pytest
from django.test import Client
from PIL import Image

from interview.calculators.formulas.accuracy import compared
from interview.calculators.formulas.models import models
from interview.calculators.formulas.registry import CALCULATORS
from tests.interview.calculators.strategies import HOSTILE

pytestmark = pytest.mark.django_db
KV = "/calculators/kv-cache/"
SLUGS = pytest.mark.parametrize("slug", list(CALCULATORS))


def text_of(page: bytes) -> str:
    return html.unescape(page.decode())


def test_the_index_names_every_calculator(client: Client) -> None:
    page = text_of(client.get("/calculators/").content)
    for calculator in CALCULATORS.values():
        assert calculator.title in page and f"/calculators/{calculator.slug}/" in page


@SLUGS
def test_every_page_has_number_formula_working_picture_and_table(client: Client, slug: str) -> None:
    response = client.get(f"/calculators/{slug}/")
    page = response.content.decode()
    assert response.status_code == 200
    assert 'class="headline-number"' in page and "<math" in page and 'class="steps"' in page
    assert page.count('<svg class="chart"') >= 1 and page.count("<table") >= page.count('<svg class="chart"')
    assert CALCULATORS[slug].meaning[:40] in text_of(response.content)


@SLUGS
def test_pages_hold_no_inline_script_style_or_handler(client: Client, slug: str) -> None:
    page = client.get(f"/calculators/{slug}/").content.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=", page)


def test_the_page_says_the_number_in_title_card_and_bar(client: Client) -> None:
    response = client.get(f"{KV}?model=openai/gpt-3-175b&tokens=4096")
    page = text_of(response.content)
    assert "<title>KV cache: 19.327 GB (18.0 GiB) · Prefill</title>" in page
    assert '<meta property="og:title" content="KV cache: 19.327 GB (18.0 GiB)">' in page
    link = "/calculators/kv-cache/?v=1&model=openai/gpt-3-175b&tokens=4096"
    assert f'data-canonical="{link}"' in page
    assert f'data-copy="http://testserver{link}"' in page
    assert "/calculators/kv-cache/card.png?v=1&model=openai/gpt-3-175b&tokens=4096" in page


def test_htmx_gets_only_the_reading_and_the_canonical_address(client: Client) -> None:
    response = client.get(
        f"{KV}?tokens=4096&sequences=1&layers=&model=gpt-3-175b",
        headers={"HX-Request": "true", "HX-Target": "result"},
    )
    page = response.content.decode()
    assert "<html" not in page and "<form" in page and "19.327" in page
    assert response["HX-Replace-Url"] == f"{KV}?v=1&model=openai/gpt-3-175b&tokens=4096"
    assert 'id="f-tokens"' not in page and 'id="f-tokens-e"' in page


def test_the_plain_form_submits_every_field_and_gets_the_same_number(client: Client) -> None:
    page = client.get(KV).content.decode()
    names = set(re.findall(r'<(?:input|select|textarea)[^>]*\sname="([a-z_]+)"', page.split("<form", 2)[2]))
    assert {p.name for p in CALCULATORS["kv-cache"].parameters} <= names
    empty = "&".join(f"{p.name}=" for p in CALCULATORS["kv-cache"].parameters if p.optional)
    response = client.get(f"{KV}?{empty}&model=openai/gpt-3-175b&tokens=4096&mode=needed")
    assert b"19.327" in response.content


def test_errors_stand_beside_their_field_and_nothing_is_lost(client: Client) -> None:
    response = client.get(f"{KV}?tokens=12x&model=llama9&dtype=fp17&colour=red&kv_heads=7")
    page = text_of(response.content)
    assert response.status_code == 422
    assert 'value="12x"' in page and "llama9 (unknown)" in page and 'value="7"' in page
    assert re.search(r'id="f-tokens-e">“12x” is not a whole number', page)
    assert "colour" in page and 'aria-invalid="true"' in page


def test_errors_reach_the_fragment_too(client: Client) -> None:
    response = client.get(f"{KV}?tokens=12x", headers={"HX-Request": "true", "HX-Target": "result"})
    assert (
        response.status_code == 200 and "HX-Replace-Url" not in response
    )  # no failed request in the console
    assert 'id="f-tokens-e" hx-swap-oob="true">' in response.content.decode()


@SLUGS
def test_hostile_text_in_every_field_is_answered(client: Client, slug: str) -> None:
    # Every value is tried on every field by itself in test_every_calculator; here all pages render a few.
    for number, parameter in enumerate(CALCULATORS[slug].parameters):
        for value in HOSTILE[number % 4 :: 4]:
            response = client.get(f"/calculators/{slug}/", {parameter.name: value.encode("utf-8", "replace")})
            assert response.status_code in (200, 422), (parameter.name, value[:20])
            assert b"<script>alert" not in response.content


def test_raw_bytes_in_the_address_are_answered(client: Client) -> None:
    for raw in (
        "tokens=%00",
        "tokens=%ED%A0%80",
        "model=%FF%FE",
        "%00=1",
        "tokens=%e2%80%8b",
        "v=%F0%9F%99%82",
    ):
        assert client.get(f"{KV}?{raw}").status_code in (200, 422)
    assert client.get("/calculators/%00/").status_code == 404
    assert client.get("/calculators/nothing/").status_code == 404


def test_a_page_takes_less_than_100_ms(client: Client) -> None:
    for slug in CALCULATORS:
        client.get(f"/calculators/{slug}/")
        best = min(timed(client, f"/calculators/{slug}/?v=1") for _ in range(3))
        assert best < 0.3, (slug, best)  # 100 ms is the aim; three times that on a busy machine


def timed(client: Client, address: str) -> float:
    started = time.perf_counter()
    client.get(address)
    return time.perf_counter() - started


def test_only_the_embedded_form_may_be_framed_and_only_where_settings_say(
    client: Client, settings: Any
) -> None:
    settings.EMBED_ANCESTORS = []
    assert client.get(f"{KV}?embed=1")["X-Frame-Options"] == "DENY"
    settings.EMBED_ANCESTORS = ["https://example.org"]
    framed = client.get(f"{KV}?embed=1&tokens=4096")
    assert "X-Frame-Options" not in framed
    assert "frame-ancestors 'self' https://example.org" in framed["Content-Security-Policy"]
    assert b'class="top"' not in framed.content and b'name="embed" value="1"' in framed.content
    assert client.get(KV)["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in client.get(KV)["Content-Security-Policy"]


@SLUGS
def test_the_card_is_a_picture_of_the_right_size(client: Client, slug: str) -> None:
    response = client.get(f"/calculators/{slug}/card.png")
    image = Image.open(io.BytesIO(response.content))
    assert response["Content-Type"] == "image/png" and image.size == (1200, 630)
    assert len(image.convert("RGB").getcolors(100_000) or []) > 10
    refused = client.get(f"/calculators/{slug}/card.png?nothing=1")
    assert (refused.status_code, refused.headers["Cache-Control"]) == (200, "no-store")


def test_a_pasted_config_is_counted_and_kept_out_of_the_link(client: Client) -> None:
    config = (
        '{"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32}'
    )
    response = client.post(f"{KV}config/", {"config": config})
    page = text_of(response.content)
    assert "16.777" in page and "hidden / heads = 128 is assumed" in page
    assert "hidden_size" not in page.split("data-canonical=")[1][:300]
    wrong = client.post(f"{KV}config/", {"config": "{oops"})
    assert wrong.status_code == 422 and "{oops" in wrong.content.decode()
    assert "is not JSON" in text_of(wrong.content)
    assert client.get(f"{KV}config/").status_code == 200
    for hostile in HOSTILE:
        sent = hostile.encode("utf-8", "replace").decode()
        assert client.post(f"{KV}config/", {"config": sent}).status_code == 422


def test_every_model_is_in_the_list(client: Client) -> None:
    page = client.get(KV).content.decode()
    assert all(f'<option value="{m}"' in page for m in models())


def test_published_numbers_agree_with_ours(client: Client) -> None:
    found = compared()
    assert len(found) >= 15 and all(row.agrees for row in found), [r for r in found if not r.agrees]
    page = text_of(client.get("/calculators/accuracy/").content)
    assert page.count(" yes</td>") == len(found) and "104 of them" in page
    for address in re.findall(r'<th scope="row"><a href="([^"]+)"', page):
        assert client.get(address).status_code == 200


def test_four_configurations_in_one_picture_and_one_link(client: Client) -> None:
    first = f"{KV}?model=openai/gpt-3-175b&tokens=4096"
    pin = re.findall(r'href="([^"]+)">Keep to compare', text_of(client.get(first).content))[0]
    page = text_of(client.get(pin.replace("tokens=4096&vs", "tokens=4096&kv_heads=8&vs")).content)
    assert "Side by side: bytes" in page and "19.327 GB (18.0 GiB)" in page and "1.611 GB (1.5 GiB)" in page
    canonical = re.findall(r'data-canonical="([^"]+)"', page)[0]
    assert canonical.count("&vs=") == 1 and f'data-copy="http://testserver{canonical}"' in page
    assert text_of(client.get(canonical).content).count("Side by side") == page.count("Side by side")
    many = "&".join(f"vs=tokens%3D{n}" for n in (1000, 2000, 3000, 5000))
    full = text_of(client.get(f"{KV}?{many}&vs=tokens%3Dx&vs=%00").content)
    assert full.count('type="hidden" name="vs"') == 3 and "Keep to compare" not in full
    fragment = client.get(f"{KV}?tokens=7&{many}", headers={"HX-Request": "true", "HX-Target": "result"})
    assert fragment["HX-Replace-Url"].count("&vs=") == 3


def test_pinned_configurations_left_out_are_named(client: Client) -> None:
    said = "at most four, with the one in the form; {} left out"
    many = "&".join(f"vs=tokens%3D{n}" for n in (1000, 2000, 3000, 5000, 6000, 6000))
    response = client.get(f"{KV}?tokens=7&{many}")
    page = text_of(response.content)
    assert response.status_code == 200 and said.format(2) in page
    three = text_of(client.get(f"{KV}?tokens=7&{many.partition('&vs=tokens%3D5000')[0]}").content)
    assert "left out" not in three
    bad = text_of(client.get(f"{KV}?tokens=7&vs=tokens%3Dx&{many}").content)
    assert "“tokens=x” is left out: tokens " in bad and bad.count('type="hidden" name="vs"') == 3
    fragment = client.get(f"{KV}?tokens=7&{many}", headers={"HX-Request": "true", "HX-Target": "result"})
    assert said.format(2) in text_of(fragment.content)
    worst = text_of(client.get(f"{KV}?{'&'.join(f'vs=tokens%3Dx{n}' for n in range(9))}").content)
    assert worst.count("is left out: ") == 6 and said.format(3) in worst
