"""Due days, streak and forecast on the learner's own calendar: midnights, clock changes, journeys."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from fsrs import Rating

from interview.accounts.models import User
from interview.practice import review_selectors, reviews
from interview.practice.models import Attempt, Dispute, Review, ReviewCard
from interview.practice.scheduling import day_start, local_day, rating_for, review, streak
from interview.questions.models import Question
from tests.factories import grade, make_attempt, verdict_for

ZURICH, NEW_YORK, KIRITIMATI = "Europe/Zurich", "America/New_York", "Pacific/Kiritimati"


def answered(owner: User, question: Question, *, score: float = 1.0, flags: tuple[str, ...] = ()) -> Attempt:
    """An answer that was assessed just now."""
    attempt = make_attempt(owner, question)
    verdict = verdict_for(attempt, state="met" if score == 1 else "missing", score=score)
    return grade(attempt, {**verdict, "flags": list(flags)})


def live_in(owner: User, zone: str) -> None:
    owner.time_zone = zone
    owner.save()


def test_a_new_card_is_due_on_whole_days() -> None:
    days = {rating: review(None, rating, date(2026, 3, 1))[1] for rating in Rating}
    assert days[Rating.Again] == days[Rating.Hard] == date(2026, 3, 2)
    assert days[Rating.Again] < days[Rating.Good] < days[Rating.Easy]


def test_the_evening_and_the_next_morning_are_a_day_apart() -> None:
    state, _ = review(None, Rating.Good, date(2026, 3, 1))
    same = review(state, Rating.Good, date(2026, 3, 1))[1]
    later = review(state, Rating.Good, date(2026, 3, 2))[1]
    assert later > same


def test_flying_west_never_goes_back_in_time() -> None:
    state, _ = review(None, Rating.Good, date(2026, 3, 2))
    assert review(state, Rating.Good, date(2026, 3, 1)) == review(state, Rating.Good, date(2026, 3, 2))


@pytest.mark.parametrize(
    ("day", "zone", "instant"),
    [
        (date(2026, 3, 29), ZURICH, datetime(2026, 3, 28, 23, tzinfo=UTC)),
        (date(2026, 3, 30), ZURICH, datetime(2026, 3, 29, 22, tzinfo=UTC)),
        (date(2026, 10, 26), ZURICH, datetime(2026, 10, 25, 23, tzinfo=UTC)),
        # Clocks go from 00:00 to 01:00: the day begins at the change.
        (date(2018, 11, 4), "America/Sao_Paulo", datetime(2018, 11, 4, 3, tzinfo=UTC)),
        # Clocks go from 01:00 back to 00:00: the day begins at the first midnight.
        (date(2026, 11, 1), "America/Havana", datetime(2026, 11, 1, 4, tzinfo=UTC)),
        (date(2026, 1, 1), KIRITIMATI, datetime(2025, 12, 31, 10, tzinfo=UTC)),
    ],
)
def test_a_day_begins_at_its_own_midnight(day: date, zone: str, instant: datetime) -> None:
    assert day_start(day, ZoneInfo(zone)) == instant
    assert local_day(instant, ZoneInfo(zone)) == day
    assert local_day(instant - timedelta(seconds=1), ZoneInfo(zone)) == day - timedelta(days=1)


def test_streaks() -> None:
    today = date(2026, 3, 10)
    days = {today - timedelta(days=n) for n in (1, 2, 3, 5)}
    assert streak(days, today) == 3
    assert streak(days | {today}, today) == 4
    assert streak(days, today + timedelta(days=1)) == 0
    assert streak(set(), today) == 0


def test_what_a_verdict_proposes() -> None:
    assert rating_for(1.0, "correct") == Rating.Good
    assert rating_for(0.6, "partial") == Rating.Hard
    assert rating_for(0.0, "incorrect") == Rating.Again
    assert rating_for(0.9, "contradictory") == Rating.Again
    assert rating_for(1.0, "correct", ["identical_to_reference"]) == Rating.Hard


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("zone", "reviewed"),
    [
        (ZURICH, "2026-03-28T22:30:00Z"),  # 23:30, hours before the clocks go forward
        (ZURICH, "2026-10-24T21:30:00Z"),  # 23:30, hours before they go back
        (NEW_YORK, "2026-11-01T03:30:00Z"),  # 23:30 on the evening before they go back
        (KIRITIMATI, "2026-06-01T09:59:00Z"),  # 23:59, fourteen hours ahead of UTC
    ],
)
def test_a_card_becomes_due_at_midnight_where_the_learner_is(
    owner: User, question: Question, zone: str, reviewed: str
) -> None:
    live_in(owner, zone)
    with time_machine.travel(reviewed, tick=False):
        answered(owner, question, score=0.0)
        card = ReviewCard.objects.get()
        today = review_selectors.today_of(owner)
    assert card.due_on == today + timedelta(days=1)
    midnight = day_start(card.due_on, ZoneInfo(zone))
    assert card.due == midnight
    assert not review_selectors.due_list(owner, midnight - timedelta(seconds=1))
    assert list(review_selectors.due_list(owner, midnight)) == [card]
    assert list(review_selectors.upcoming_list(owner, midnight - timedelta(seconds=1))) == [card]


@pytest.mark.django_db
def test_the_day_travels_with_the_learner(owner: User, question: Question) -> None:
    live_in(owner, ZURICH)
    with time_machine.travel("2026-06-01T20:00:00Z", tick=False):
        answered(owner, question, score=0.0)
    evening_there = datetime(
        2026, 6, 1, 23, 0, tzinfo=UTC
    )  # 01:00 on the 2nd in Zurich, 19:00 on the 1st in New York
    assert review_selectors.due_list(owner, evening_there).count() == 1
    live_in(owner, NEW_YORK)
    assert review_selectors.due_list(owner, evening_there).count() == 0
    assert review_selectors.due_list(owner, datetime(2026, 6, 2, 4, 0, tzinfo=UTC)).count() == 1


@pytest.mark.django_db
def test_a_zone_change_breaks_no_streak(owner: User, question: Question) -> None:
    live_in(owner, ZURICH)
    for moment in ("2026-06-01T22:30:00Z", "2026-06-02T22:30:00Z"):  # 00:30 on the 2nd and the 3rd
        with time_machine.travel(moment, tick=False):
            answered(owner, question)
    live_in(owner, NEW_YORK)
    assert set(Review.objects.values_list("day", flat=True)) == {date(2026, 6, 2), date(2026, 6, 3)}
    assert review_selectors.streak_of(owner, datetime(2026, 6, 3, 12, tzinfo=UTC)) == 2


@pytest.mark.django_db
def test_an_answer_counts_for_the_day_on_which_it_was_given(owner: User, question: Question) -> None:
    live_in(owner, ZURICH)
    with time_machine.travel("2026-06-01T21:59:30Z", tick=False):  # 23:59:30 on the 1st
        attempt = make_attempt(owner, question)
    with time_machine.travel("2026-06-01T22:00:30Z", tick=False):  # assessed on the 2nd
        grade(attempt, verdict_for(attempt, state="missing", score=0.0))
    assert Review.objects.get().day == date(2026, 6, 1)
    assert ReviewCard.objects.get().due_on == date(2026, 6, 2)


@pytest.mark.django_db
def test_the_strong_answer_word_for_word_keeps_no_streak(owner: User, question: Question) -> None:
    answered(owner, question, flags=("identical_to_reference",))
    kept = Review.objects.get()
    assert (kept.counts, kept.rating) == (False, Rating.Hard)
    assert review_selectors.streak_of(owner) == 0


@pytest.mark.django_db
def test_the_forecast_counts_overdue_cards_today(owner: User, question: Question) -> None:
    with time_machine.travel("2026-06-01T12:00:00Z", tick=False):
        answered(owner, question, score=0.0)
    now = datetime(2026, 6, 9, 12, tzinfo=UTC)
    ahead = review_selectors.forecast(owner, now)
    assert (ahead[0].day, ahead[0].count) == (date(2026, 6, 9), 1)
    assert sum(day.count for day in ahead) == 1 and len(ahead) == 14


def url(name: str, attempt: Attempt) -> str:
    return reverse(f"practice:{name}", args=[attempt.pk])


@pytest.mark.django_db
def test_the_learner_may_choose_another_rating(owner_client: Client, owner: User, question: Question) -> None:
    attempt = answered(owner, question, score=0.0)
    before = ReviewCard.objects.get().due_on
    page = owner_client.get(url("attempt", attempt)).content.decode()
    assert "See it again" in page
    owner_client.post(url("rating", attempt), {"rating": "4"})
    kept, card = Review.objects.get(), ReviewCard.objects.get()
    assert (kept.proposed, kept.rating) == (1, 4)
    assert card.due_on > before
    owner_client.post(url("rating", attempt), {"rating": "1"})
    assert ReviewCard.objects.get().due_on == before


@pytest.mark.django_db
def test_a_later_answer_sets_the_date(owner_client: Client, owner: User, question: Question) -> None:
    first = answered(owner, question)
    answered(owner, question)
    due_on = ReviewCard.objects.get().due_on
    page = owner_client.post(url("rating", first), {"rating": "1"}, follow=True).content.decode()
    assert "answered this question again since" in page and "See it again" not in page
    assert ReviewCard.objects.get().due_on == due_on
    with pytest.raises(reviews.RatingRefused, match="not assessed"):
        reviews.rating_change(attempt=make_attempt(owner, question), rating=1)


@pytest.mark.django_db
@pytest.mark.parametrize("rating", ["", "0", "5", "x"])
def test_another_rating_changes_nothing(
    owner_client: Client, owner: User, question: Question, rating: str
) -> None:
    attempt = answered(owner, question)
    page = owner_client.post(url("rating", attempt), {"rating": rating}, follow=True).content.decode()
    assert "Choose one of the four" in page
    assert Review.objects.get().rating == 3


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["rating", "dispute"])
def test_others_change_neither_rating_nor_dispute(
    other_client: Client, anonymous_client: Client, owner: User, question: Question, name: str
) -> None:
    attempt = answered(owner, question)
    for client in (other_client, anonymous_client):
        assert client.post(url(name, attempt), {"rating": "1"}).status_code == 404
    assert Review.objects.get().rating == 3 and not Dispute.objects.exists()


@pytest.mark.django_db
def test_a_verdict_is_disputed_and_that_is_taken_back(
    owner_client: Client, owner: User, question: Question
) -> None:
    attempt = answered(owner, question, score=0.0)
    page = owner_client.post(
        url("dispute", attempt), {"note": "I said <b>linear</b>."}, follow=True
    ).content.decode()
    assert "It needs review" in page and "I said &lt;b&gt;linear&lt;/b&gt;." in page
    owner_client.post(url("dispute", attempt), {"note": "x" * 2_001})
    assert Dispute.objects.get().note == "I said <b>linear</b>."
    owner_client.post(url("dispute", attempt), {"withdraw": "1"})
    assert not Dispute.objects.exists()


@pytest.mark.django_db
def test_the_day_shows_what_is_due_and_what_comes_next(
    owner_client: Client, owner: User, question: Question
) -> None:
    second = Question.objects.exclude(pk=question.pk).filter(owner=None).first()
    assert second is not None
    with time_machine.travel("2026-06-01T12:00:00Z", tick=False):
        first = answered(owner, question, score=0.0)
        answered(owner, second, score=0.0)
    page = owner_client.get(reverse("practice:practice")).content.decode()
    assert "Review 2 questions" in page and "The next two weeks" in page
    shown = owner_client.get(url("attempt", first)).content.decode()
    assert f"Next due: {second.title}" in shown
    with time_machine.travel("2026-06-01T13:00:00Z", tick=False):
        page = owner_client.get(reverse("practice:practice")).content.decode()
    assert "Nothing is due" in page and "Tuesday 2 June" in page and "1 day in a row" in page


@pytest.mark.django_db
def test_queries(
    owner_client: Client, owner: User, question: Question, django_assert_max_num_queries: object
) -> None:
    answered(owner, question, score=0.0)
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        owner_client.get(reverse("practice:practice"))
