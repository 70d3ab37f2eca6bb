"""JSON of the calculators: the same parameters, numbers and errors as the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from ninja import Body, Router

from interview.calculators.formulas.parameters import Parameter
from interview.calculators.formulas.registry import CALCULATORS, Outcome, run

router = Router(tags=["calculators"])


@router.get("/calculators", summary="Every calculator with its parameters")
def calculators(request: HttpRequest) -> list[dict[str, Any]]:
    """Slug, title, summary and parameters of each."""
    return [
        {
            "calculator": c.slug,
            "title": c.title,
            "summary": c.summary,
            "url": request.build_absolute_uri(reverse("calculators:show", args=[c.slug])),
            "parameters": [_parameter(p) for p in c.parameters],
        }
        for c in CALCULATORS.values()
    ]


@router.get(
    "/calculators/{slug}", summary="One calculation; its parameters are the query", url_name="calculate"
)
def calculate(request: HttpRequest, slug: str) -> Any:
    """Inputs normalised, results in base units, steps, warnings and the canonical link."""
    return _answer(request, slug, request.GET)


@router.post("/calculators/{slug}", summary="The same with parameters in a JSON body, for long text")
def calculate_body(request: HttpRequest, slug: str, parameters: Body[dict[str, Any]]) -> Any:
    """As GET, for what does not fit in an address."""
    return _answer(request, slug, parameters)


def _answer(request: HttpRequest, slug: str, given: Mapping[str, Any]) -> Any:
    if slug not in CALCULATORS:
        detail = f"no calculator of this name; there are {', '.join(CALCULATORS)}"
        return JsonResponse({"code": "not_found", "detail": detail}, status=404)
    outcome = run(CALCULATORS[slug], given)
    if outcome.errors:
        return JsonResponse(errors(outcome, "query" if request.method == "GET" else "body"), status=422)
    path = f"{reverse('calculators:show', args=[slug])}?{outcome.query}"
    return JsonResponse(outcome.to_dict(request.build_absolute_uri(path)))


def errors(outcome: Outcome, where: str) -> dict[str, Any]:
    """The contract's shape of refused input."""
    detail = [{"loc": [where, e.name], "msg": e.message} for e in outcome.errors]
    return {"code": "invalid_input", "detail": detail}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "kind": parameter.kind,
        "label": parameter.label,
        "unit": parameter.unit,
        "default": parameter.default,
        "optional": parameter.optional,
    }
    if parameter.kind in ("whole", "real"):
        described |= {"minimum": parameter.low, "maximum": parameter.high}
    if parameter.choices:
        described["choices"] = [name for name, _ in parameter.choices]
    if parameter.also:
        described["also"] = dict(parameter.also)
    return described
