"""Short links: made on a click, opened by id, deleted by whoever holds the token."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from interview.calculators import selectors, services
from interview.calculators.formulas.registry import CALCULATORS, find, run
from interview.calculators.models import ShareLink
from interview.calculators.page import LONGEST_QUERY
from interview.calculators.views import calculator_or_404, posted, respond, wants_fragment


@require_POST
def create(request: HttpRequest) -> HttpResponse:
    """A short link for `slug` and the form's inputs; the answer shows it with its delete link, once."""
    calculator = calculator_or_404(request.POST.get("slug") or request.GET.get("slug", ""))
    outcome = run(calculator, posted(request), at_once=True)
    if outcome.errors:
        return respond(request, outcome)
    try:
        link, token = services.share(outcome, request.META.get("REMOTE_ADDR", ""))
    except services.TooManyLinks:
        return render(request, "calculators/too_many.html", {"calculator": calculator}, status=429)
    path = reverse("calculators:open", args=[link.pk])
    context = {
        "calculator": calculator,
        "outcome": outcome,
        "share": link,
        "short": request.build_absolute_uri(path),
        "delete": f"{reverse('calculators:delete', args=[link.pk])}?token={token}",
    }
    template = "calculators/_shared.html" if wants_fragment(request) else "calculators/shared.html"
    return render(request, template, context)


@require_safe
def open_link(request: HttpRequest, link_id: str) -> HttpResponse:
    """Goes to the canonical link, or shows the result here where the query is too long for one."""
    link = _link_or_404(link_id)
    if link.is_gone or link.slug not in CALCULATORS:
        return render(request, "calculators/gone.html", {"share": link}, status=410)
    if len(link.query) <= LONGEST_QUERY:
        return redirect(f"{reverse('calculators:show', args=[link.slug])}?{link.query}")
    path = reverse("calculators:open", args=[link.pk])
    return respond(request, run(find(link.slug), QueryDict(link.query), at_once=True), short=path)


@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, link_id: str) -> HttpResponse:
    """Asks, then deletes; the token in the address is the right to do so."""
    link = _link_or_404(link_id)
    token = (request.POST if request.method == "POST" else request.GET).get("token", "")
    if link.is_gone:
        return render(request, "calculators/gone.html", {"share": link}, status=410)
    if request.method == "GET":
        return render(request, "calculators/delete.html", {"share": link, "token": token})
    if not services.delete(link, token):
        return render(request, "calculators/delete.html", {"share": link, "wrong": True}, status=403)
    return render(request, "calculators/gone.html", {"share": link, "just_now": True})


def _link_or_404(link_id: str) -> ShareLink:
    link = selectors.link(link_id)
    if link is None:
        raise Http404("There is no such link.")
    return link
