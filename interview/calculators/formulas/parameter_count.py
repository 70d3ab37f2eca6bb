"""Parameters by part, and the memory they take.

Attention has q, k, v and o; a gated MLP has three matrices, a plain one two; a tied head is counted once.
Checked against the stated count of every registered model.
"""

from __future__ import annotations

from dataclasses import dataclass

from interview.calculators.formulas.calculator import Calculator, Preset
from interview.calculators.formulas.model_config import shape_reader
from interview.calculators.formulas.models import Geometry
from interview.calculators.formulas.own_model import GROUP, MLPS, QK_NORMS, geometry_of, prepare
from interview.calculators.formulas.parameters import choice, flag, model, whole
from interview.calculators.formulas.result import (
    Chart,
    Headline,
    Result,
    Series,
    Table,
    Value,
    Working,
    program,
)
from interview.calculators.formulas.units import both_bytes, counted, grouped
from interview.calculators.formulas.weights import active, group_total, parts, total

NEEDED = ("layers", "hidden", "vocabulary")
GROUPS = (
    ("embedding", "token embedding"),
    ("positions", "learned positions"),
    ("attention", "attention"),
    ("ffn", "feed-forward"),
    ("norms", "norms"),
    ("lm_head", "output head"),
)
# (name, title, bytes, for so many weights); block formats of ggml, MX and NVFP4 with their scales
DTYPES = (
    ("fp32", "fp32", 4, 1),
    ("bf16", "bf16 or fp16", 2, 1),
    ("fp8", "fp8 or int8", 1, 1),
    ("q8_0", "q8_0", 34, 32),
    ("q6_k", "q6_K", 210, 256),
    ("q4_k", "q4_K", 144, 256),
    ("q4_1", "q4_1", 20, 32),
    ("q4_0", "q4_0", 18, 32),
    ("mxfp4", "mxfp4", 17, 32),
    ("nvfp4", "nvfp4", 9, 16),
)
ALSO = (("fp16", "bf16"), ("float16", "bf16"), ("bfloat16", "bf16"), ("float32", "fp32"), ("int8", "fp8"))


@dataclass(frozen=True, slots=True)
class ParameterInputs:
    """A registered model, or an own geometry of plain blocks."""

    model: str = model("meta-llama/Meta-Llama-3.1-8B", "Model", own=True)
    dtype: str = choice("bf16", "Weights kept as", [(n, t) for n, t, _, _ in DTYPES], also=ALSO)
    layers: int | None = whole(None, "Layers", high=10**5, group=GROUP)
    hidden: int | None = whole(None, "Hidden size", high=10**6, group=GROUP)
    heads: int | None = whole(None, "Query heads", high=10**5, group=GROUP, hint="hidden / 128 if empty")
    kv_heads: int | None = whole(None, "KV heads", high=10**5, group=GROUP, hint="as query heads if empty")
    head_dim: int | None = whole(
        None, "Head dimension", high=10**5, group=GROUP, hint="hidden / heads if empty"
    )
    intermediate: int | None = whole(
        None, "Feed-forward width", high=10**7, group=GROUP, hint="4 × hidden if empty"
    )
    vocabulary: int | None = whole(None, "Vocabulary", high=10**8, group=GROUP)
    mlp: str = choice("plain", "Feed-forward", MLPS, group=GROUP)
    tied: bool = flag("output head shares the embedding", group=GROUP)
    experts: int | None = whole(
        None, "Experts a layer", high=10**5, group=GROUP, hint="each of the feed-forward width"
    )
    active_experts: int | None = whole(None, "Experts a token uses", high=10**5, group=GROUP)
    qkv_bias: bool = flag("q, k and v have biases", group=GROUP)
    qk_norm: str = choice("none", "Queries and keys", QK_NORMS, group=GROUP)
    norms: int = whole(2, "Norms a layer", low=0, high=16, group=GROUP)


def parameter_count(inputs: ParameterInputs) -> Result:
    """Parameters by part. Raises InputErrors where an own geometry is incomplete."""
    geometry = geometry_of(inputs, NEEDED)
    working = _working(geometry)
    count = total(geometry)
    results = _results(geometry, count, inputs.dtype)
    return Result(
        headline=Headline(
            *_said(count), second=both_bytes(int(results["bytes"])), exact=f"{grouped(count)} parameters"
        ),
        results=results,
        steps=tuple(working.steps),
        warnings=_warnings(geometry),
        charts=(_stack(geometry),),
        tables=(_counted_otherwise(results), _memory(count), _every_part(geometry)),
        program=program(f"Parameters: {geometry.name}", working, "parameters"),
    )


def _said(count: int) -> tuple[str, str]:
    number, _, word = counted(count).partition(" ")
    return number, f"{word} parameters".strip()


def _plain(model: Geometry) -> bool:
    """Is one line a layer enough to write the count down?"""
    special = (model.mla, model.moe, model.state, model.global_attention, model.block.qk_norm)
    return not any(special) and not model.gated_q and model.family != "gpt-oss"


def _working(model: Geometry) -> Working:
    working = Working()
    working.given(vocabulary=model.vocab_size, hidden=model.hidden_size, layers=model.n_layers)
    working.step("embedding", "Token embedding", "vocabulary * hidden", "parameters")
    names = ["embedding"]
    if model.block.learned_positions:
        working.given(positions=model.block.learned_positions)
        working.step("position_table", "Learned positions", "positions * hidden", "parameters")
        names.append("position_table")
    names += _block_steps(working, model) if _plain(model) else _part_steps(working, model)
    names += _rest_steps(working, model)
    working.step("parameters", "All parameters", " + ".join(names), "parameters")
    return working


def _block_steps(working: Working, model: Geometry) -> list[str]:
    working.given(
        heads=model.n_heads, kv_heads=model.n_kv_heads, head_dim=model.head_dim, width=model.intermediate_size
    )
    query, kv = model.n_heads * model.head_dim, model.n_kv_heads * model.head_dim
    biases = (query + 2 * kv) * model.block.qkv_bias + model.hidden_size * model.block.o_bias
    code = "hidden * head_dim * (2 * heads + 2 * kv_heads)"
    working.given(biases=biases)
    working.step(
        "attention_block",
        "Attention of one block: q, k, v, o",
        code + (" + biases" if biases else ""),
        "parameters",
    )
    matrices = 3 if model.block.mlp == "gated" else 2
    mlp_biases = ((matrices - 1) * model.intermediate_size + model.hidden_size) * model.block.mlp_bias
    working.given(mlp_biases=mlp_biases)
    code = f"{matrices} * hidden * width" + (" + mlp_biases" if mlp_biases else "")
    working.step("ffn_block", f"Feed-forward of one block: {matrices} matrices", code, "parameters")
    working.step("blocks", "All blocks", "layers * (attention_block + ffn_block)", "parameters")
    return ["blocks"]


def _part_steps(working: Working, model: Geometry) -> list[str]:
    """Parts of unusual blocks, each as layers x what one layer holds."""
    names: list[str] = []
    for part in parts(model):
        if part.group not in ("attention", "ffn"):
            continue
        name = f"{part.group}_{len(names)}"
        count = part.layers
        working.given(**{f"{name}_layers": count, f"{name}_one": part.params // count})
        working.step(name, part.name.capitalize(), f"{name}_layers * {name}_one", "parameters")
        names.append(name)
    return names


def _rest_steps(working: Working, model: Geometry) -> list[str]:
    names = ["norms"]
    vectors = model.block.norms_per_layer * model.n_layers + 1 + int(model.block.embedding_norm)
    working.given(vectors=vectors, values=2 if model.block.norm == "ln" else 1)
    working.step("norms", "Norms: gains, and biases in LayerNorm", "vectors * values * hidden", "parameters")
    if not model.tie_word_embeddings:
        working.step("lm_head", "Output head, a matrix of its own", "vocabulary * hidden", "parameters")
        names.append("lm_head")
    if model.block.lm_head_bias:
        working.step("head_bias", "Bias of the output head", "vocabulary", "parameters")
        names.append("head_bias")
    return names


def _results(model: Geometry, count: int, dtype: str) -> dict[str, Value]:
    used = active(model)
    embedding = group_total(model, "embedding")
    head = group_total(model, "lm_head")
    results: dict[str, Value] = {"parameters": count, "bytes": weight_bytes(count, dtype)}
    results |= {f"{name}_parameters": group_total(model, name) for name, _ in GROUPS}
    results |= {
        "attention_parameters_per_block": group_total(model, "attention") // model.n_layers,
        "ffn_parameters_per_block": group_total(model, "ffn") // model.n_layers,
        "parameters_without_embeddings": count - embedding - head - group_total(model, "positions"),
        "active_parameters": used,
        "active_parameters_without_input_embedding": used - embedding if head else used,
    }
    return results


def weight_bytes(count: int, dtype: str) -> int:
    """Bytes of `count` weights in this format, whole blocks."""
    _, _, size, block = next(d for d in DTYPES if d[0] == dtype)
    return -(-count // block) * size


def _warnings(model: Geometry) -> tuple[str, ...]:
    said = []
    if model.tie_word_embeddings:
        twice = grouped(total(model) + model.vocab_size * model.hidden_size)
        said.append(
            f"The output head is the embedding again and is counted once; adding it would give {twice}."
        )
    if model.moe:
        said.append(
            "“Active” leaves out experts a token is not sent to; all of them must still be in memory."
        )
    if model.params_stated and model.params_stated != total(model):
        said.append(
            f"The published figure is {grouped(model.params_stated)} ({model.params_check} from this count)."
        )
    if model.notes:
        said.append(f"{model.name}: {model.notes}")
    return tuple(said)


def _stack(model: Geometry) -> Chart:
    shown = [(title, group_total(model, name)) for name, title in GROUPS if group_total(model, name)]
    series = [Series("all", tuple((float(i), float(n)) for i, (_, n) in enumerate(shown)))]
    if model.moe:
        used = {name: sum(p.used for p in parts(model) if p.group == name) for name, _ in GROUPS}
        points = [used[name] for name, _ in GROUPS if group_total(model, name)]
        series.append(Series("active", tuple((float(i), float(n)) for i, n in enumerate(points))))
    return Chart(
        kind="bars",
        title="Where the parameters sit",
        x_label="part",
        y_label="parameters",
        y_unit="parameters",
        series=tuple(series),
        labels=tuple(title for title, _ in shown),
    )


def _counted_otherwise(results: dict[str, Value]) -> Table:
    """The same model as others count it: what a figure leaves out explains most differences."""
    rows = tuple(
        (said, results[name])
        for name, said in (
            ("parameters", "all"),
            ("parameters_without_embeddings", "without embeddings, positions and head"),
            ("active_parameters", "active: one token’s experts, all else"),
            ("active_parameters_without_input_embedding", "active without the input embedding"),
        )
        if name in results
    )
    return Table("What a figure may leave out", ("counted", "parameters"), rows)


def _memory(count: int) -> Table:
    rows = tuple(
        (title, weight_bytes(count, name), both_bytes(weight_bytes(count, name)))
        for name, title, _, _ in DTYPES
    )
    return Table("Memory of the weights alone", ("kept as", "bytes", "GB (GiB)"), rows)


def _every_part(model: Geometry) -> Table:
    rows = tuple((p.name, p.params, p.used, round(100 * p.params / total(model), 2)) for p in parts(model))
    return Table("Every part", ("part", "parameters", "used by one token", "% of all"), rows)


CALCULATOR = Calculator(
    slug="parameters",
    title="Parameters",
    summary="Where a model’s parameters sit, how many a token uses, and the memory they take.",
    inputs=ParameterInputs,
    compute=parameter_count,
    prepare=prepare,
    from_config=shape_reader(ParameterInputs),
    formula="vocabulary * hidden + layers * (attention_block + ffn_block) + norms + lm_head",
    formula_name="parameters",
    meaning=(
        "In a plain block with a four-fold feed-forward layer, a third of the weights is attention and two thirds "
        "are feed-forward. Small models spend much of their size on the embedding table; mixture-of-experts models "
        "hold far more than any one token uses."
    ),
    usual_mistake=(
        "Counting a tied output head twice, counting one expert of many as the whole layer, or sizing memory by the "
        "active count: every expert has to be loaded, whichever few a token is sent to."
    ),
    sources=(
        "Counting by definition; each model’s source is named in the registry",
        "Tied GPT-2 head: github.com/huggingface/transformers/issues/14960",
    ),
    presets=(
        Preset("GPT-2 small, tied head", "model=openai-community/gpt2&dtype=fp32"),
        Preset(
            "one block of width 4,096, vocabulary 50,000", "model=own&layers=1&hidden=4096&vocabulary=50000"
        ),
        Preset("Mixtral 8x7B", "model=mistralai/Mixtral-8x7B-v0.1"),
        Preset("DeepSeek-V3 in fp8", "model=deepseek-ai/DeepSeek-V3&dtype=fp8"),
        Preset("gpt-oss-20b in mxfp4", "model=openai/gpt-oss-20b&dtype=mxfp4"),
    ),
)
