"""Parameters: every number in the model's file counted, against the formula, part by part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from interview.calculators.formulas.parameter_count import GROUPS, ParameterInputs
from interview.calculators.formulas.weights import group_total, total
from interview.calculators.measuring.local import engine_of, geometry_of
from interview.calculators.measuring.proof import CLOSE, SEEN, Proof, Row
from interview.runs.kinds import JSON, Job, RunFailed

if TYPE_CHECKING:
    from engine import Engine
    from engine.gguf_file import GGUF

PARTS = (
    ("token_embd", "embedding"),
    ("_norm", "norms"),
    ("attn_", "attention"),
    ("ffn_", "ffn"),
    ("output.", "lm_head"),
)


def plan(inputs: ParameterInputs) -> JSON:
    """The local model is what it is: nothing to choose."""
    return {}


def measure(job: Job, plan: JSON) -> Proof:
    """Count the elements of every tensor in the file, and the bytes that are loaded."""
    engine = engine_of(job)
    geometry = geometry_of(engine)
    file = _file(engine)
    counted = _by_part(file)
    labels = dict(GROUPS)
    parts = [(g, group_total(geometry, g)) for g in labels if group_total(geometry, g) or counted.get(g)]
    rows = [Row(f"{labels[g].capitalize()}", "parameters", n, counted.get(g, 0)) for g, n in parts]
    rows.append(Row("All parameters", "parameters", total(geometry), sum(counted.values())))
    return Proof(
        setting=f"{engine.card.name}: {len(file.tensors)} tensors of {engine.card.file}",
        rows=(*rows, *_bytes(engine, file)),
        notes=(
            "In memory the matrices lie as 4-bit groups, the output matrix as 8-bit rows; a second copy of the matrices in bf16 "
            "for long prompts is left out of the loaded bytes.",
        ),
    )


def _file(engine: Engine) -> GGUF:
    from engine.gguf_file import read_gguf

    path = Path(settings.MODELS_DIR) / engine.card.name / engine.card.file
    if path.suffix != ".gguf" or not path.is_file():
        raise RunFailed(
            f"{engine.card.file} is not a GGUF file in the models’ folder, so it can't be counted."
        )
    return read_gguf(path)


def _by_part(file: GGUF) -> dict[str, int]:
    counted: dict[str, int] = {}
    for name, tensor in file.tensors.items():
        part = next((group for sign, group in PARTS if sign in name), "other")
        size = 1
        for side in tensor.shape:
            size *= side
        counted[part] = counted.get(part, 0) + size
    return counted


def _bytes(engine: Engine, file: GGUF) -> list[Row]:
    from engine.gguf_file import TENSOR_TYPES

    sizes = {kind: (values, data) for kind, values, data in TENSOR_TYPES.values()}
    says, found, bits = 0, 0, 0
    for tensor in file.tensors.values():
        count = 1
        for side in tensor.shape:
            count *= side
        values, data = sizes[tensor.kind]
        says += count // values * data
        found += tensor.raw.nbytes
        bits += count
    loaded = _loaded(engine)
    return [
        Row("Bytes of the tensors in the file", "bytes", says, found),
        Row("Bytes a parameter, over the whole file", "bytes", None, found / bits, SEEN),
        Row("Bytes of weights read for a token", "bytes", found, loaded, CLOSE),
    ]


def _loaded(engine: Engine) -> int:
    decoder = engine.decoder
    matrices = sum(
        linear.n_bytes
        for layer in decoder.layers
        for linear in (layer.qkv, layer.out, layer.gate_up, layer.down)
    )
    norms = sum(n.gain.nbytes for layer in decoder.layers for n in (layer.attn_norm, layer.mlp_norm))
    return int(matrices + norms + decoder.norm.gain.nbytes + decoder.head.n_bytes)
