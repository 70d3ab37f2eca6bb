"""`{% kept %}` renders a part once for the same values."""

from __future__ import annotations

from django.template import Context, Template


def test_a_kept_part_follows_the_values_it_names() -> None:
    template = Template("{% load kept %}{% kept a %}{{ a }}{{ b }}{% endkept %}")
    said = [template.render(Context({"a": a, "b": b})) for a, b in (("<", 1), ("<", 2), ("x", 3), ("", 4))]
    assert said == ["&lt;1", "&lt;1", "x3", "4"]


def test_kept_parts_are_bounded() -> None:
    template = Template("{% load kept %}{% kept a %}{{ b }}{% endkept %}")
    for n in range(1000):
        template.render(Context({"a": n, "b": n}))
    (node,) = (n for n in template.nodelist if hasattr(n, "_held"))
    assert len(node._held) <= 200
