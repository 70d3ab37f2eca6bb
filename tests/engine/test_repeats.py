"""A pattern that forces millions of characters is refused; what merely allows many is not."""

from __future__ import annotations

import pytest

from engine import repeats
from engine.repeats import patterns_of, repeated


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("abc", 1),
        ("a{7}", 7),
        ("a{7,}b{3,9}", 7),
        ("a{0,9999999}", 1),
        ("(ab{10}c){20}", 200),
        ("((a{2}){3}){4}", 24),
        (r"\(a{5}\){2}", 5),
        ("[(){9}]{6}", 6),
        (r"a\{9}", 1),
        ("a{5}{6}", 30),
        ("(a{5}", 5),
        (")(a{4})", 4),
        ("a{" + "9" * 400 + "}", 999_999_999),
    ],
)
def test_lower_bounds_are_multiplied_within_groups(pattern: str, count: int) -> None:
    assert repeated(pattern) == count


def test_what_merely_allows_much_is_fine() -> None:
    assert repeated("(a|b){3000,5000}c[ab]{0,9999999}") <= repeats.MOST


def test_patterns_are_found_wherever_a_schema_has_them() -> None:
    schema = {
        "properties": {"pattern": {"pattern": "a"}, "b": {"items": [{"pattern": "b"}]}},
        "patternProperties": {"c": {"pattern": "d"}},
    }
    assert sorted(patterns_of(schema)) == ["a", "b", "c", "d"]
