"""Configurations that an account keeps under a name."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from interview.accounts.sessions import AccountRequest, sign_in_required
from interview.calculators import page, selectors, services
from interview.calculators.formulas.registry import run_query
from interview.calculators.views import calculator_or_404, respond, wants_fragment


@require_POST
@sign_in_required
def keep(request: AccountRequest, slug: str) -> HttpResponse:
    """Keep the query in the form under the name typed; nothing typed is lost where it can't be."""
    calculator = calculator_or_404(slug)
    outcome = run_query(calculator, request.POST.get("query", ""))
    name = request.POST.get("name", "")
    if outcome.errors:
        return respond(request, outcome)
    context: dict[str, object] = {"calculator": calculator, "outcome": outcome}
    context["kept_query"] = page.kept_query(outcome)
    try:
        services.keep(request.user, outcome, name)
    except services.NotKept as refused:
        context |= {"keep_error": str(refused), "keep_name": name}
        if not wants_fragment(request):
            return respond(request, outcome, extra=context, status=422)
    else:
        if not wants_fragment(request):
            messages.success(request, f"Kept as “{name.strip()}”.")
            return redirect(f"{reverse('calculators:show', args=[slug])}?{outcome.query}")
    context["kept"] = selectors.kept(request.user, slug)
    return render(request, "calculators/_kept.html", context)


@require_POST
@sign_in_required
def forget(request: AccountRequest, pk: int) -> HttpResponse:
    """Delete one of one's own."""
    found = selectors.kept_get(pk, request.user)
    if found is None:
        raise Http404("No such configuration.")
    slug = found.slug
    services.forget(found)
    if wants_fragment(request):
        outcome = run_query(calculator_or_404(slug), request.POST.get("query", ""))
        context = {
            "calculator": outcome.calculator,
            "outcome": outcome,
            "kept_query": page.kept_query(outcome),
            "kept": selectors.kept(request.user, slug),
        }
        return render(request, "calculators/_kept.html", context)
    messages.success(request, "Deleted.")
    return redirect("calculators:show", slug=slug)
