"""The report of a session: per question and point, per topic, time, weak patterns, and what to do next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interview.plain_text import word_count
from interview.practice.models import InterviewSession, SessionItem
from interview.practice.scheduling import GOOD
from interview.practice.selectors import PointView, point_views
from interview.practice.session_selectors import items_of

SHORT = 25  # words; fewer rarely hold two points


@dataclass(frozen=True)
class PointLine:
    """A point of an answer, and whether a follow-up brought it out."""

    number: int
    means: str
    state: str
    word: str
    rescued: bool


@dataclass(frozen=True)
class QuestionLine:
    """One question of the session as the report shows it."""

    item: SessionItem
    state: str
    score: float | None
    points: list[PointLine]
    seconds: int | None
    over: int

    @property
    def n_met(self) -> int:
        return sum(point.state == "met" or point.rescued for point in self.points)


@dataclass(frozen=True)
class TopicLine:
    """The mean score of a topic's assessed answers."""

    id: str
    title: str
    linked: bool
    n_answers: int
    score: float


@dataclass(frozen=True)
class Pattern:
    """Something that went wrong more than once, or weighs: what, and what to do about it."""

    title: str
    advice: str


@dataclass(frozen=True)
class Report:
    """Everything the report shows."""

    questions: list[QuestionLine]
    topics: list[TopicLine]
    patterns: list[Pattern]
    corrections: list[str]
    read: list[TopicLine]
    calculate: list[dict[str, str]]
    play: list[dict[str, str]]
    score: float | None
    n_answered: int
    seconds: int
    over: int


def report(session: InterviewSession) -> Report:
    """The report from what was answered and assessed so far."""
    items = items_of(session)
    lines = [_question_line(item, session.minutes) for item in items]
    scores = [line.score for line in lines if line.score is not None]
    topics = _topics(lines)
    weak = [line for line in lines if line.score is not None and line.score < GOOD]
    return Report(
        questions=lines,
        topics=topics,
        patterns=_patterns(lines),
        corrections=_corrections(lines),
        read=[topic for topic in sorted(topics, key=lambda topic: topic.score) if topic.score < GOOD][:3],
        calculate=_links(weak, "calculators", "slug"),
        play=_links(weak, "playground", "page"),
        score=sum(scores) / len(scores) if scores else None,
        n_answered=sum(line.item.attempt is not None for line in lines),
        seconds=sum(line.seconds or 0 for line in lines),
        over=sum(line.over for line in lines),
    )


def _question_line(item: SessionItem, minutes: int) -> QuestionLine:
    attempt = item.attempt
    over = max(0, (item.seconds or 0) - minutes * 60)
    if attempt is None:
        return QuestionLine(item, "skipped" if item.skipped else "not reached", None, [], item.seconds, over)
    if attempt.verdict is None:
        ended = attempt.run is None or attempt.run.ended
        state = "not assessed" if ended else "being assessed"
        return QuestionLine(item, state, None, [], item.seconds, over)
    verdict = attempt.verdict["verdict"].replace("_", " ")
    score = None if verdict == "not assessed" else attempt.score
    rescued = _rescued(item)
    points = [_point_line(point, rescued) for point in point_views(attempt)]
    return QuestionLine(item, verdict, score, points, item.seconds, over)


def _point_line(point: PointView, rescued: set[str]) -> PointLine:
    late = point.state != "met" and point.id in rescued
    return PointLine(point.number, point.means, point.state, point.word, late)


def _rescued(item: SessionItem) -> set[str]:
    """Points that a follow-up's answer met."""
    assert item.attempt is not None
    return {
        point["id"]
        for answer in item.attempt.probe_attempts.all()
        if answer.verdict is not None
        for point in answer.verdict["points"]
        if point["state"] == "met"
    }


def _topics(lines: Sequence[QuestionLine]) -> list[TopicLine]:
    scores: dict[str, list[float]] = defaultdict(list)
    topics: dict[str, Any] = {}
    for line in lines:
        if line.score is not None:
            topic = line.item.question.topic
            topics[topic.pk] = topic
            scores[topic.pk].append(line.score)
    ordered = sorted(topics.values(), key=lambda topic: (topic.order, topic.pk))
    return [
        TopicLine(
            topic.pk, topic.title, topic.retired is None, len(scores[topic.pk]), _mean(scores[topic.pk])
        )
        for topic in ordered
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _patterns(lines: Sequence[QuestionLine]) -> list[Pattern]:
    points = [point for line in lines for point in line.points]
    opposed = sum(point.state == "contradicted" for point in points)
    late = sum(point.rescued for point in points)
    figures, without = _figures(lines)
    short = sum(1 for line in lines if line.item.attempt and word_count(line.item.attempt.text) < SHORT)
    listed = _flagged(lines, "keyword_list")
    echoed = _flagged(lines, "restates_question")
    over = sum(line.over > 0 for line in lines)
    found = [
        (opposed, f"Said the opposite of {_n(opposed, 'point')}", "Start with these: a wrong statement weighs more than a gap."),
        (without, f"Left out {without} of {_n(figures, 'figure')}", "Put one number you can derive into each answer."),
        (late, f"Knew {_n(late, 'point')} only when asked again", "Before you stop, ask yourself what the interviewer would ask next."),
        (short, f"Kept {_n(short, 'answer')} under {SHORT} words", "Say the claim, the reason and an example: three sentences."),
        (listed, f"Listed terms in {_n(listed, 'answer')}", "Say how the terms hang together; a list earns nothing."),
        (echoed, f"Repeated the question in {_n(echoed, 'answer')}", "Open with the answer instead."),
        (over, f"Ran over time on {_n(over, 'question')}", "Give the short answer first and the details after it."),
    ]  # fmt: skip
    return [Pattern(title, advice) for count, title, advice in found if count]


def _n(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _figures(lines: Sequence[QuestionLine]) -> tuple[int, int]:
    """How many points want a number, and how many of those were not met."""
    wanted = missed = 0
    for line in lines:
        attempt = line.item.attempt
        if attempt is None:
            continue
        with_number = {
            number
            for number, point in enumerate(attempt.rubric.body["points"], start=1)
            if point.get("numbers")
        }
        asked = [point for point in line.points if point.number in with_number]
        wanted += len(asked)
        missed += sum(point.state != "met" and not point.rescued for point in asked)
    return wanted, missed


def _flagged(lines: Sequence[QuestionLine], flag: str) -> int:
    verdicts = [line.item.attempt.verdict for line in lines if line.item.attempt is not None]
    return sum(flag in verdict.get("flags", []) for verdict in verdicts if verdict)


def _corrections(lines: Sequence[QuestionLine]) -> list[str]:
    verdicts = [line.item.attempt.verdict for line in lines if line.item.attempt is not None]
    found = [item["right"] for verdict in verdicts if verdict for item in verdict["misconceptions"]]
    return list(dict.fromkeys(found))


def _links(lines: Sequence[QuestionLine], field: str, key: str) -> list[dict[str, str]]:
    """What to try next, each once, from the weakest answers first."""
    links: dict[tuple[str, str], dict[str, str]] = {}
    for line in sorted(lines, key=lambda line: line.score or 0):
        for link in getattr(line.item.question, field):
            links.setdefault((link[key], link.get("query", "")), link)
    return list(links.values())[:4]
