"""Masks that keep an output inside a grammar, by llguidance, and the guards around them.

A schema is checked against its metaschema and size limits before compiling, one that can't be enforced is
refused with
the reason, and the finished text is validated again: duplicate keys, say, are beyond a grammar.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llguidance
import numpy as np
import torch
from torch import Tensor

from engine.errors import EngineError, InvalidRequest
from engine.schemas import check_schema, limits, parse_json, refusal, schema_grammar, sized
from engine.tokenizer import ModelTokenizer
from engine.types import Passage, Request

# compute_bitmask lets go of the GIL, so a mask is made while the loop's thread runs the forward pass.
_pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine-mask")


@dataclass(frozen=True, slots=True)
class Constraint:
    """A compiled constraint: what kind it is, its grammar for llguidance, and what validates the finished
    text.
    """

    kind: str
    grammar: str
    schema: Any = None
    passages: tuple[Passage, ...] = ()


def of_request(request: Request) -> Constraint | None:
    """The request's constraint, not yet compiled; raises `InvalidRequest` for a bad one. None without one."""
    if request.schema is not None:
        check_schema(request.schema)
        return Constraint("schema", schema_grammar(request.schema), request.schema)
    if request.regex is not None:
        return Constraint("regex", llguidance.LLMatcher.grammar_from_regex(sized(request.regex, "regex")))
    if request.choices is not None:
        return Constraint("choices", choices_grammar(request.choices))
    if request.grammar is not None:
        return Constraint(
            "grammar", llguidance.LLMatcher.grammar_from_lark(sized(request.grammar, "grammar"))
        )
    if request.quotes is not None:
        return Constraint("quotes", quotes_grammar(request.quotes), passages=request.quotes)
    if request.tools:
        from engine.tools import call_schema

        schema = call_schema(request.tools)
        check_schema(schema)
        return Constraint("tools", schema_grammar(schema), schema)
    return None


def choices_grammar(choices: Sequence[str]) -> str:
    """A grammar of literal alternatives."""
    options = " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    return str(llguidance.LLMatcher.grammar_from_lark(sized(f"start: {options}", "choices")))


def quotes_grammar(passages: Sequence[Passage]) -> str:
    """A grammar of runs of whole words, at least one, that occur in a passage."""
    if not passages or not all(p.text.strip() for p in passages):
        raise InvalidRequest("invalid_quotes", "quotes must hold passages with text", "quotes")
    rules = [f'W{i}: %regex {{"substring_words": {json.dumps(p.text)}}}' for i, p in enumerate(passages)]
    # Between two words lies a run of no words: without this, a space alone would be a quote.
    rules += [f"Q{i}: W{i} & /(?s:.*\\S.*)/" for i in range(len(passages))]
    start = "start: " + " | ".join(f"q{i}" for i in range(len(passages)))
    parts = [f"q{i}: Q{i}" for i in range(len(passages))]
    return str(llguidance.LLMatcher.grammar_from_lark("\n".join([start, *parts, *rules])))


class Grammars:
    """Compiles constraints for one tokenizer; compiled ones are kept and copied."""

    def __init__(self, tokenizer: ModelTokenizer, n_vocab: int) -> None:
        self.tokenizer, self.n_vocab = tokenizer, n_vocab
        self._compiled = lru_cache(maxsize=64)(self._compile)
        self._lazy: Any = None

    @property
    def backend(self) -> Any:
        """llguidance's view of the tokenizer (made on first use: about half a second)."""
        if self._lazy is None:
            wrapper = llguidance.TokenizerWrapper(_Spelled(self.tokenizer))
            eos = sorted(self.tokenizer.eos_ids)
            self._lazy = llguidance.LLTokenizer(wrapper, n_vocab=self.n_vocab, eos_token=eos)
        return self._lazy

    def matcher(self, constraint: Constraint) -> Matcher:
        """A fresh matcher; raises `InvalidRequest` naming what can't be enforced."""
        return Matcher(self._compiled(constraint.kind, constraint.grammar).deep_copy(), self.n_vocab)

    def _compile(self, kind: str, grammar: str) -> Any:
        made = llguidance.LLMatcher(self.backend, grammar, log_level=0, limits=limits())
        if made.is_error():
            raise refusal("schema" if kind in ("schema", "tools") else kind, made.get_error())
        return made


class _Spelled:
    """The attributes llguidance asks a tokenizer for."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self.eos_token_id = min(tokenizer.eos_ids)
        self.bos_token_id = tokenizer.bos_id
        self.tokens = tokenizer.token_bytes
        self.special_token_ids = sorted(tokenizer.special_ids)
        self._encode = tokenizer.encode_exactly

    def __call__(self, text: bytes) -> list[int]:
        return self._encode(text.decode("utf-8"))


class Matcher:
    """The state of one request's grammar.

    Tokens are consumed once they are final, so no draft needs undoing.
    """

    def __init__(self, backend: Any, n_vocab: int) -> None:
        self.backend, self.n_vocab = backend, n_vocab
        self.mask_seconds = 0.0
        self.masks = 0
        self._pending: Future[bytes] | None = None

    def prepare(self) -> None:
        """Starts computing the next mask in the background."""
        if self._pending is None and not self.backend.is_stopped():
            self._pending = _pool.submit(self._bits)

    def _bits(self) -> bytes:
        start = time.perf_counter()
        found: bytes = self.backend.compute_bitmask()
        self.mask_seconds += time.perf_counter() - start
        self.masks += 1
        return found

    def allowed(self) -> Tensor:
        """Which tokens may come next, bool [vocab]."""
        self.prepare()
        bits = self._pending.result() if self._pending else self._bits()
        self._pending = None
        self._check()
        # llguidance's torch helper goes through torch.compile and costs milliseconds on a CPU.
        flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")[: self.n_vocab]
        return torch.from_numpy(flags).bool()

    def consume(self, token_id: int) -> None:
        """Advances by a chosen token."""
        self._settle()
        self.backend.consume_token(token_id)
        self._check()

    def admissible(self, draft: list[int]) -> int:
        """How many leading tokens of a draft the grammar would take."""
        self._settle()
        return int(self.backend.validate_tokens(draft)) if draft else 0

    @property
    def complete(self) -> bool:
        """True when nothing can be added."""
        return bool(self.backend.is_stopped())

    @property
    def accepting(self) -> bool:
        """True when the text so far satisfies the grammar."""
        return bool(self.backend.is_accepting())

    def takes(self, ids: list[int]) -> bool:
        """Whether these tokens from the start satisfy the grammar. Ends what the matcher was following."""
        self._settle()
        self.backend.reset()
        if ids and (self.backend.validate_tokens(ids) < len(ids) or not self.backend.consume_tokens(ids)):
            return False
        return self.accepting

    def _settle(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def _check(self) -> None:
        if self.backend.is_error():
            reason = self.backend.get_error().partition("\n<state>")[0][:300]
            raise EngineError("constraint_failed", f"the constraint failed: {reason}")


def parse(constraint: Constraint, text: str) -> Any:
    """The value of a finished text. Raises `EngineError` when it breaks the schema after all."""
    if constraint.kind == "quotes":
        return find_quote(constraint.passages, text)
    if constraint.schema is None:
        return text
    return parse_json(constraint.schema, text)


def find_quote(passages: Sequence[Passage], text: str) -> dict[str, Any]:
    """Where the quote lies: {"passage", "start", "end", "text"}, character offsets in the passage."""
    for passage in passages:
        start = passage.text.find(text)
        if start >= 0:
            return {"passage": passage.id, "start": start, "end": start + len(text), "text": text}
    raise EngineError("quote_mismatch", "the quote is in no passage")
