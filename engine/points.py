"""The gates: from how each piece of an answer stands to a point, to the state of that point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.alignment import Known, align, flips
from engine.compiled import CompiledPoint
from engine.figures import FigureCheck, check_figures
from engine.named import about
from engine.stance import Stance
from engine.units import PAIR, SENTENCE, Unit, inside
from engine.verdict import State

MET = 0.45  # similarity to a statement that a piece with all anchors must reach
MET_BARE = 0.62  # the same for a point without anchors
PAIR_EXTRA = 0.05  # two sentences together must come closer
PARTIAL = 0.36
PARTIAL_ANCHORS = 0.6  # enough similarity for partial credit when one anchor is missing
OPPOSED = 0.6  # similarity from which a turned-round statement contradicts
OPPOSED_LEAD = 0.05
NEARER = 0.03  # a piece that comes so much nearer to the opposite doesn't support the point
WRONG = 0.55  # similarity from which a misconception is taken as stated
WRONG_LEAD = 0.03
DENIED = 0.55
VOIDS = 0.8  # similarity from which a denial voids the same point stated elsewhere
VOIDS_OPPOSED = 0.6  # the same where the two pieces contradict each other word by word
LARGER = 0.08  # how much nearer a sentence must come than a clause in it to be quoted instead
NEAR = 0.04  # this close to a threshold a verdict is worth a second look


@dataclass(frozen=True, slots=True)
class Reading:
    """What one piece says about one point."""

    piece: int
    state: State
    strength: float
    why: str
    close: bool = False  # near a threshold
    firm: bool = False  # no smaller piece says more: what counts is how its clauses stand to each other


@dataclass(frozen=True, slots=True)
class Judged:
    """The state of a point with the piece that decided it."""

    state: State
    piece: int | None
    why: str
    close: bool


def judge(
    compiled: CompiledPoint,
    pieces: Sequence[Unit],
    stances: Sequence[Stance],
    wrong: Sequence[Sequence[Stance]],
    rivals: Sequence[float],
    swapped: Sequence[int],
    found: Sequence[Sequence[bool]],
    known: Known,
) -> Judged:
    """Read every piece, let smaller pieces overrule the larger ones that hold them, and settle the state."""
    readings = []
    for i, piece in enumerate(pieces):
        against = [stances_of[i] for stances_of in wrong]
        reading = _read(compiled, i, piece, stances[i], against, rivals[i], found[i], known)
        if i in swapped and piece.size != PAIR:
            reading = Reading(
                i, "contradicted", 1.0, "The roles are exchanged: this is said of something else."
            )
        readings.append(reading)
    return _settle(readings, pieces, known)


def states_wrong(stance: Stance, rival: float) -> bool:
    """True when a piece states a misconception rather than denying it or saying something right."""
    return stance.states >= WRONG and stance.states > max(stance.opposes, rival) + WRONG_LEAD


def _read(
    compiled: CompiledPoint,
    i: int,
    piece: Unit,
    own: Stance,
    wrong: Sequence[Stance],
    rival: float,
    found: Sequence[bool],
    known: Known,
) -> Reading:
    """`rival` is how near the piece comes to any point while agreeing: the right idea explains it better."""
    stated = max((stance.states for stance in wrong if states_wrong(stance, rival)), default=0.0)
    denied = max((stance.opposes for stance in wrong if stance.opposes > stance.agrees), default=0.0)
    if piece.clause.hedged:
        return _support(compiled, i, piece, max(own.agrees, own.opposes), own, found, known)
    if piece.size != PAIR and stated:
        return Reading(i, "contradicted", stated, "This states a known misconception.", stated < WRONG + NEAR)
    # Who denies a misconception doesn't deny the point as well.
    opposed = own.opposes >= OPPOSED and own.opposes > (
        0.0 if own.changed else max(rival + OPPOSED_LEAD, *(found.denies for found in wrong), 0.0)
    )
    if piece.size != PAIR and opposed and about(found):
        close = own.opposes < OPPOSED + NEAR
        return Reading(
            i, "contradicted", own.opposes, "This says the opposite of the point.", close, own.changed
        )
    agrees = own.agrees if own.agrees >= own.opposes - NEARER or not about(found) else 0.0
    support = max(agrees, denied if denied >= DENIED else 0.0)
    return _support(compiled, i, piece, support, own, found, known)


def _support(
    compiled: CompiledPoint,
    i: int,
    piece: Unit,
    support: float,
    own: Stance,
    found: Sequence[bool],
    known: Known,
) -> Reading:
    need = (MET if found else MET_BARE) + (PAIR_EXTRA if piece.size == PAIR else 0.0)
    missing = len(found) - sum(found)
    if missing == 0 and support >= need:
        state, why = _gated(piece, own, check_figures(compiled.figures, piece, known))
        return Reading(i, state, support, why, support < need + NEAR)
    if missing == 0 and support >= need - (MET - PARTIAL):
        return Reading(
            i, "partial", support, "This touches the point without quite stating it.", support > need - NEAR
        )
    if missing == 1 and len(found) > 1 and support >= PARTIAL_ANCHORS and not compiled.figures:
        return Reading(i, "partial", support, "This goes in the right direction but leaves out what matters.")
    return Reading(i, "missing", support, "")


def _gated(piece: Unit, own: Stance, figures: FigureCheck) -> tuple[State, str]:
    if figures.state == "absent":
        return "missing", figures.why
    if piece.clause.hedged and not own.hedged_too:
        return "partial", "This is hedged, so it counts in part."
    if figures.state == "off":
        return "partial", figures.why
    return "met", "This states the point." if not figures.why else figures.why


def _settle(readings: Sequence[Reading], pieces: Sequence[Unit], known: Known) -> Judged:
    kept = [reading for reading in readings if not _overruled(reading, readings, pieces)]
    against = _best(kept, "contradicted", pieces)
    for_it = _best(kept, "met", pieces)
    if against is not None and for_it is not None and not _outweighs(against, for_it, pieces, known):
        return Judged("met", for_it.piece, for_it.why, True)
    if against is not None:
        why = against.why if for_it is None else "The point is both stated and denied."
        return Judged("contradicted", against.piece, why, against.close or for_it is not None)
    for state in ("met", "partial"):
        best = _best(kept, state, pieces)
        if best is not None:
            return Judged(best.state, best.piece, best.why, best.close)
    close = [reading for reading in kept if reading.close]
    noted = [reading for reading in kept if reading.why]
    why = (
        max(noted, key=lambda reading: reading.strength).why
        if noted
        else "Nothing in the answer states this point."
    )
    return Judged("missing", None, why, bool(close))


def _outweighs(against: Reading, for_it: Reading, pieces: Sequence[Unit], known: Known) -> bool:
    """True when a denial voids what is stated elsewhere: all but verbatim, or the pieces clash."""
    if against.strength >= VOIDS:
        return True
    one, other = pieces[against.piece].clause, pieces[for_it.piece].clause
    pairs = align(one, other, known)
    return against.strength >= VOIDS_OPPOSED and flips(one, other, pairs) > 0


def _overruled(reading: Reading, readings: Sequence[Reading], pieces: Sequence[Unit]) -> bool:
    """A sentence can't be read against what a clause inside it says."""
    mine = pieces[reading.piece]
    if reading.firm:
        return False
    if any(other.firm and inside(mine, pieces[other.piece]) for other in readings):
        return True
    if mine.size < SENTENCE:
        return False
    rivals = {"met": ("contradicted",), "partial": ("contradicted",), "contradicted": ("met",)}.get(
        reading.state, ()
    )
    return any(
        other.state in rivals and pieces[other.piece].size < mine.size and inside(pieces[other.piece], mine)
        for other in readings
    )


def _best(readings: Sequence[Reading], state: str, pieces: Sequence[Unit]) -> Reading | None:
    """The reading to quote: the nearest one with this state; a larger piece must be clearly nearer."""
    fitting = [reading for reading in readings if reading.state == state]
    return max(fitting, key=lambda r: (r.strength - LARGER * pieces[r.piece].size, -r.piece), default=None)
