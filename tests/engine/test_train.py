"""Training an adapter: the data, the objective, and that what is written serves as it was trained."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest
import torch

from engine import InvalidRequest, reader
from engine.llm import Engine
from engine.negatives import swapped
from engine.reading import read
from engine.train import _command, go_on, parser, write
from engine.train_data import Asked, Paragraph, packs, read_squad, split
from engine.train_model import Trainee, new_parameters
from engine.train_run import Recipe, Run, marks, schedule
from engine.train_steps import pack, read_packs
from tests.engine.tiny import byte_tokenizer, oracle, tiny_engine

NAMES = ["Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", "Hal"]


def squad(path: Path) -> Path:
    """Who is where: half of the questions ask for somebody who isn't there."""
    articles = []
    for title in ("One", "Three"):
        paragraphs = []
        for i, name in enumerate(NAMES):
            place = f"{title}{NAMES[-1 - i]}"
            context = f"{name} is in {place}."
            other = NAMES[(i + 3) % len(NAMES)]
            answers = [{"text": place, "answer_start": context.index(place)}]
            paragraphs.append(
                {
                    "context": context,
                    "qas": [
                        {"id": f"{title}{i}", "question": f"Where is {name}?", "answers": answers},
                        {"id": f"{title}{i}x", "question": f"Where is {other}?", "answers": [],
                         "is_impossible": True},
                    ],
                }
            )  # fmt: skip
        articles.append({"title": title, "paragraphs": paragraphs})
    path.write_text(json.dumps({"version": "v2.0", "data": articles}))
    return path


@pytest.fixture
def paragraphs(tmp_path: Path) -> list[Paragraph]:
    return read_squad(squad(tmp_path / "squad.json"))


def test_articles_held_out_are_never_trained_on(paragraphs: list[Paragraph]) -> None:
    train, chosen_by = split(paragraphs, ["Three"])
    assert {p.article for p in [*train, *chosen_by]} == {"One"}
    assert not {p.text for p in train} & {p.text for p in chosen_by}
    with pytest.raises(InvalidRequest, match="no article 'Four'"):
        split(paragraphs, ["Four"])


def test_every_question_is_packed_once_and_strangers_have_no_answer(paragraphs: list[Paragraph]) -> None:
    made = list(packs(paragraphs, random.Random(0), most=3, strange=1.0))
    own = [a.id for p in made for a in p.asked if f"{p.text[:-1]}".startswith(f"{a.question[9:-1]} ")]
    assert sorted(own) == sorted(a.id for p in paragraphs for a in p.asked if a.answers)
    assert max(len(p.asked) for p in made) <= 3
    for p in made:
        for asked in p.asked:
            assert all(p.text[at : at + len(text)] == text for text, at in asked.answers)


def test_a_swapped_name_or_number_makes_an_unanswerable_question() -> None:
    text = "In 1643 young Ada Byron met Charles Babbage, and Mary Somerville wrote in 1834."
    asked = (
        Asked("1", "Who met Charles Babbage?", (("Ada Byron", 14),)),
        Asked("2", "Who wrote in 1834?", (("Mary Somerville", 49),)),
        Asked("3", "Who is where?", (("Ada Byron", 14),)),
        Asked("4", "Where is Ada Byron?", ()),
    )
    here = Paragraph("One", text, asked)
    made = [q for seed in range(20) for q in swapped(here, [here], random.Random(seed), 1.0)]
    assert {q.id for q in made} == {"1", "2"} and not any(q.answers for q in made)
    questions = {q.question for q in made}
    assert "Who wrote in 1643?" in questions and "Who met Mary Somerville?" in questions
    assert "Who met Charles Babbage?" not in questions
    assert swapped(here, [here], random.Random(0), 0.0) == []


def test_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    for text in ("[]", "{", '{"data": [{"title": "x"}]}'):
        path.write_text(text)
        with pytest.raises(InvalidRequest, match="not a SQuAD"):
            read_squad(path)


def test_the_spans_of_a_passage_are_its_own_characters() -> None:
    tokenizer = byte_tokenizer()
    text = "Flo is in Ürümqi, ok."
    found = reader.encode_passage(tokenizer, text)
    start = text.index("Ürümqi")
    first, last = reader.token_span(found.spans, start, start + 6) or (0, 0)
    assert text[found.spans[first][0] : found.spans[last][1]] == "Ürümqi"
    assert reader.token_span(found.spans[:5], start, start + 6) is None
    assert text[slice(*reader.trimmed(text, start - 1, start + 7))] == "Ürümqi"


def test_the_learning_rate_rises_then_falls() -> None:
    rates = [schedule(done / 100, 0.1) for done in range(1, 101)]
    assert max(rates) == pytest.approx(1.0)
    assert rates.index(max(rates)) == 9
    assert rates[0] == pytest.approx(0.1)
    assert rates[-1] == pytest.approx(0.05)


def trained(engine: Engine, paragraphs: list[Paragraph], recipe: Recipe) -> Run:
    parameters = new_parameters(engine.decoder, recipe.rank, recipe.seed)
    model = Trainee(engine.decoder, parameters, recipe.alpha / recipe.rank, recipe.drop)
    train, chosen_by = split(paragraphs, ["Three"])
    run = Run(model, engine.tokenizer, recipe, train, chosen_by)
    for _ in run:
        pass
    return run


def test_the_mean_of_the_weights_is_what_is_kept(paragraphs: list[Paragraph]) -> None:
    with tiny_engine(oracle(seed=3)) as engine:
        run = trained(engine, paragraphs, Recipe(epochs=1, average=0.9, check_every=1000))
        last, mean = run.model.parameters["head.weight"].detach(), run.best["head.weight"]
        assert 0 < float(mean.norm()) < float(last.norm())
        plain = trained(engine, paragraphs, Recipe(epochs=1, check_every=1000))
        assert torch.equal(plain.best["head.weight"], plain.model.parameters["head.weight"].detach())


def test_training_learns_and_what_is_written_serves_as_trained(
    paragraphs: list[Paragraph], tmp_path: Path
) -> None:
    recipe = Recipe(epochs=14, rate=4e-3, head_rate=4e-3, check_every=200)
    with tiny_engine(oracle(seed=3)) as engine:
        run = trained(engine, paragraphs, recipe)
        again = read_packs(run.model, run.tokenizer, run.train)
        assert run.best_marks is not None
        assert marks(again).auc > 0.9  # chance is 0.5
        run.model.parameters = run.best
        card = {
            "base": {"name": "tiny", "sha256": engine.card.sha256},
            "factor": 2.0,
            "classes": ["stated"],
            "command": "x",
        }
        write(tmp_path / "out", run, card, {"step": run.best_step})
        engine.attach(tmp_path / "out", "out")
        paragraph = next(p for p in run.chosen_by if p.asked)
        for wanted in read_packs(run.model, run.tokenizer, [paragraph]):
            served = read(engine, "out", wanted.asked.question, paragraph.text)
            trained_logit = torch.tensor(served.stated).logit()
            # The file keeps the updates in bf16.
            assert float(trained_logit) == pytest.approx(wanted.logit, abs=0.3)
        hits = engine.passages.hits
        assert hits == len(paragraph.asked) - 1
    written = json.loads((tmp_path / "out" / "card.json").read_text())
    weights = (tmp_path / "out" / "adapter.safetensors").read_bytes()
    assert written["sha256"] == hashlib.sha256(weights).hexdigest()
    fresh = new_parameters(run.model.decoder, recipe.rank, recipe.seed)
    started_from = go_on(fresh, tmp_path / "out", engine.card.sha256)["started_from"]
    assert started_from["sha256"] == written["sha256"]
    # The whole line of runs stays in the card.
    told = tmp_path / "out" / "card.json"
    told.write_text(json.dumps(json.loads(told.read_text()) | {"started_from": {"sha256": "first"}}))
    again = go_on(fresh, tmp_path / "out", engine.card.sha256)["started_from"]
    assert again == {**started_from, "started_from": {"sha256": "first"}}
    assert torch.equal(fresh["head.weight"], run.best["head.weight"])
    for model, rank in (("another", recipe.rank), (engine.card.sha256, recipe.rank + 1)):
        with pytest.raises(InvalidRequest, match="another model, rank"):
            go_on(new_parameters(run.model.decoder, rank, 0), tmp_path / "out", model)


def test_the_same_seed_trains_the_same_weights(paragraphs: list[Paragraph]) -> None:
    recipe = Recipe(epochs=1, check_every=5)
    with tiny_engine(oracle(seed=3)) as engine:
        one, two = (trained(engine, paragraphs, recipe).best for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_question_sees_the_passage_and_itself_alone(paragraphs: list[Paragraph]) -> None:
    made = pack(byte_tokenizer(), paragraphs[0])
    first, second = (b.asks for b in made.branches)
    trunk = len(made.passage.ids)
    assert bool(made.laid.mask[second, :trunk].all())
    assert not bool(made.laid.mask[second, trunk : first + 1].any())


def test_the_card_names_files_without_their_folders() -> None:
    argv = [
        "--task",
        "answerability",
        "--data",
        "/a/b/squad.json",
        "--out",
        "/c/d/answerability",
        "--seed",
        "1",
    ]
    text = _command(argv, parser().parse_args(argv))
    assert (
        text == "python -m engine train --task answerability --data squad.json --out answerability --seed 1"
    )
