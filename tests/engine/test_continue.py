"""Going on from tokens that are already there: the output is what it would have been."""

from __future__ import annotations

import pytest

from engine import InvalidRequest, Message, Request, Sampling
from engine.llm import Engine

ASKED = (Message("user", "Name three colours <|im_end|> and an animal."),)


def test_the_output_goes_on_behind_the_given_tokens(engine: Engine) -> None:
    whole = engine.generate(Request(messages=ASKED, sampling=Sampling(max_tokens=12)))
    kept = whole.token_ids[:5]
    rest = engine.generate(Request(messages=ASKED, sampling=Sampling(max_tokens=7), continue_ids=kept))
    assert kept + rest.token_ids == whole.token_ids
    assert rest.usage["prompt_tokens"] == whole.usage["prompt_tokens"] + 5
    assert rest.rendered_prompt == whole.rendered_prompt + engine.tokenizer.decode(list(kept))


@pytest.mark.parametrize("ids", [[-1], ["1"], [1.0], [True], 7, [10**9]])
def test_what_is_no_token_is_refused(engine: Engine, ids: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        engine.submit(Request.from_dict({"prompt": "a", "continue_ids": ids}))
    assert caught.value.field == "continue_ids"
