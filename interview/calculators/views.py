"""Calculator pages: one view gives the page, the htmx fragment and the embedded frame."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_http_methods, require_safe

from interview.calculators import card, comparison, page, selectors
from interview.calculators.fields import loose_errors
from interview.calculators.formulas.accuracy import Compared, compared
from interview.calculators.formulas.calculator import Calculator
from interview.calculators.formulas.kv_own import own_fields
from interview.calculators.formulas.models import models
from interview.calculators.formulas.parameters import InputErrors
from interview.calculators.formulas.registry import CALCULATORS, Outcome, find, run
from interview.calculators.formulas.units import number_text
from interview.calculators.formulas.weights import total
from interview.calculators.kinds import KIND, MEASURES
from interview.calculators.page_cache import PAGES
from interview.calculators.scales import whole
from interview.runs.kinds import remote_fault

PAGE_ONLY = ("embed", "vs", "csrfmiddlewaretoken")


def calculator_or_404(slug: str) -> Calculator:
    """The calculator of an address."""
    if slug not in CALCULATORS:
        raise Http404("There is no calculator of this name.")
    return find(slug)


def asked(query: QueryDict) -> QueryDict:
    """The parameters without those that belong to the page."""
    kept = query.copy()
    for name in PAGE_ONLY:
        kept.pop(name, None)
    return kept


def posted(request: HttpRequest) -> QueryDict:
    """The parameters of a posted form: under `query`, or each by its name, so that a long text isn't sent twice."""
    if "query" in request.POST:
        return QueryDict(request.POST["query"])
    return asked(request.POST)


def path_to(outcome: Outcome, others: list[Outcome]) -> str:
    """The canonical address, pinned configurations included."""
    path = reverse("calculators:show", args=[outcome.calculator.slug])
    return f"{path}?{outcome.query}{comparison.suffix(others)}" if outcome.query else path


def card_of(request: HttpRequest, outcome: Outcome, *, is_short: bool = False) -> str:
    """The absolute address of the preview card; a short one, for a query too long for an address, is the calculator's."""
    path = reverse("calculators:card", args=[outcome.calculator.slug])
    return request.build_absolute_uri(path if is_short or not outcome.query else f"{path}?{outcome.query}")


@cache
def _at_first() -> tuple[Outcome, ...]:
    """What each calculator says before anything is typed: decided by the code alone, so computed once a process."""
    return tuple(run(c, {}, at_once=True) for c in CALCULATORS.values())


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every calculator, each with the number it shows at first."""
    outcomes = _at_first()
    kept = selectors.kept(request.user) if request.user.is_authenticated else []
    titles = {slug: c.title for slug, c in CALCULATORS.items()}
    shown = [(one, titles[one.slug]) for one in kept if one.slug in titles]
    return render(request, "calculators/index.html", {"outcomes": outcomes, "kept": shown})


@require_safe
def accuracy(request: HttpRequest) -> HttpResponse:
    """Published numbers beside ours, case by case."""
    rows = [_accuracy_row(c) for c in compared()]
    known = models().values()
    exact = sum(total(m) == m.params_stated for m in known)
    context = {"rows": rows, "models": len(known), "exact": exact}
    return render(request, "calculators/accuracy.html", context)


def _accuracy_row(row: Compared) -> dict[str, Any]:
    case = row.published
    query = urlencode(parse_qsl(case.query), safe="/:,", quote_via=quote)
    return {
        "label": case.label,
        "note": case.note,
        "unit": case.unit,
        "source": case.source,
        "is_link": case.source.startswith("https://"),
        "published": number_text(whole(case.value)),
        "ours": number_text(whole(row.ours)),
        "agrees": row.agrees,
        "link": f"{reverse('calculators:show', args=[case.slug])}?{query}",
    }


@require_http_methods(["GET", "HEAD", "POST"])
@xframe_options_exempt
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """A calculator for the query: page, fragment for htmx, or frame with `?embed=1`."""
    if (known := PAGES.get(request)) is not None:
        return known
    given = request.POST if request.method == "POST" else request.GET
    # A page that a form was sent for can't ask again by itself: it waits.
    at_once = request.method != "POST" or wants_fragment(request)
    outcome = run(calculator_or_404(slug), asked(given), at_once=at_once)
    others, left_out = comparison.pinned(outcome, given.getlist("vs"))
    extra = {"loose_errors": [*loose_errors(outcome), *left_out]}
    response = respond(request, outcome, embed=given.get("embed") == "1", others=others, extra=extra)
    if outcome.result and not outcome.result.pending:
        PAGES.put(request, response)
    return response


def wants_fragment(request: HttpRequest) -> bool:
    """Did htmx ask for a part of the page?"""
    details = getattr(request, "htmx", None)
    return bool(details) and not getattr(details, "history_restore_request", False)


def respond(
    request: HttpRequest,
    outcome: Outcome,
    *,
    embed: bool = False,
    extra: Mapping[str, Any] | None = None,
    others: list[Outcome] | None = None,
    status: int = 200,
    short: str = "",
) -> HttpResponse:
    """The page or fragment of an outcome; 422 where the input was refused. `short` is its address where it came by one."""
    others = others or []
    path = short or path_to(outcome, others)
    if not short and not embed and len(outcome.query) > page.LONGEST_QUERY:
        path = reverse("calculators:show", args=[outcome.calculator.slug])
    context = page.context(outcome, request.build_absolute_uri(path))
    context |= page.comparison_context(outcome, others) | {"canonical": path, "short": short}
    context |= {
        "embed": embed,
        "own_query": _own_query(outcome),
        "card": card_of(request, outcome, is_short=context["is_long"]),
    }
    context["measure"] = MEASURES.get(outcome.calculator.slug)
    context["remote_fault"] = remote_fault(KIND)
    is_fragment = wants_fragment(request)
    if not is_fragment and not embed:
        context |= _around(request, outcome)
    context |= dict(extra or {})
    is_own = is_fragment and request.htmx.target == "result"  # type: ignore[attr-defined]  # HtmxMiddleware
    # Another page (home) may show a calculator's reading: it gets no part that belongs to the calculator's own page.
    fragment = "calculators/_answer.html" if is_own else "calculators/_reading.html"
    template = fragment if is_fragment else "calculators/page.html"
    # A page answers 422 to refused input; a fragment, which the script asked for with every keystroke, shows the errors
    # and is no failed request.
    response = render(
        request, template, context, status=422 if outcome.errors and not is_fragment else status
    )
    if is_own and outcome.result and not context["is_long"]:
        response["HX-Replace-Url"] = f"{path}{'&embed=1' if embed else ''}"
    response["Vary"] = "HX-Request, Cookie"
    return _framed(response, embed)


def _around(request: HttpRequest, outcome: Outcome) -> dict[str, Any]:
    """What stands around the reading on the calculator's own page: what the account keeps, questions it belongs to."""
    slug = outcome.calculator.slug
    user = request.user if request.user.is_authenticated else None
    return {
        "questions": selectors.questions_about(slug),
        "kept": selectors.kept(user, slug) if user else None,
        "is_signed_in": user is not None,
    }


def _framed(response: HttpResponse, embed: bool) -> HttpResponse:
    """Only the embedded form may stand in a frame, and only on the sites that settings name."""
    allowed = list(getattr(settings, "EMBED_ANCESTORS", []))
    if embed and allowed:
        response._csp_replace = {"frame-ancestors": ["'self'", *allowed]}  # type: ignore[attr-defined]  # django-csp reads it
    else:
        response["X-Frame-Options"] = "DENY"
    return response


def _own_query(outcome: Outcome) -> str:
    """Where to change any part of the chosen model's geometry."""
    model = getattr(outcome.inputs, "model", None)
    if outcome.calculator.slug != "kv-cache" or model not in models():
        return ""
    query = QueryDict(mutable=True)
    query.update(own_fields(models()[model]))
    return query.urlencode(safe="/")


@require_safe
def card_png(request: HttpRequest, slug: str) -> HttpResponse:
    """The preview card of the query."""
    outcome = run(calculator_or_404(slug), asked(request.GET), at_once=True)
    response = HttpResponse(card.png(outcome, page.brief(outcome)), content_type="image/png")
    response["Cache-Control"] = "no-store" if outcome.errors else "public, max-age=86400"
    return response


@require_http_methods(["GET", "POST"])
def config(request: HttpRequest, slug: str) -> HttpResponse:
    """Reads a pasted config.json and shows what it gives; what was pasted never enters a link."""
    calculator = calculator_or_404(slug)
    if calculator.from_config is None:
        raise Http404("This calculator reads no config.json.")
    text = request.POST.get("config", "")
    if request.method == "GET":
        return respond(request, run(calculator, {}))
    try:
        reading = calculator.from_config(text)
    except InputErrors as wrong:
        outcome = run(calculator, {})
        extra = {"config": text[:200_000], "config_error": wrong.errors[0].message}
        response = respond(request, outcome, extra=extra)
        response.status_code = 422
        return response
    outcome = run(calculator, reading.fields)
    return respond(request, outcome, extra={"config": text, "noticed": reading.noticed})
