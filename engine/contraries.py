"""Words that a claim must not put in place of the passage's: contraries, converses, quantifiers, units, limits."""

from __future__ import annotations

from collections.abc import Iterable

from engine.lexicon import opposites, turns_round
from engine.stems import IRREGULAR, stem, word_set

# Past forms that `stem` doesn't lead back to their verb.
FORMS = {
    form: verb
    for verb, forms in {
        "build": "built", "win": "won winning", "lead": "led", "lose": "lost", "beat": "beaten", "fight": "fought",
        "sell": "sold sale", "buy": "bought", "teach": "taught", "leave": "left", "meet": "met", "find": "finds",
        "become": "became", "begin": "began begun", "bring": "brought", "catch": "caught", "come": "came", "cut": "cuts",
        "draw": "drew drawn", "drive": "drove driven", "eat": "ate eaten", "feed": "fed", "fly": "flew flown",
        "forbid": "forbade forbidden", "forget": "forgot forgotten", "hide": "hid hidden", "hit": "hits", "lay": "laid",
        "pay": "paid", "ride": "rode ridden", "ring": "rang rung", "seek": "sought", "shoot": "shot", "sing": "sang sung",
        "sink": "sank sunk", "speak": "spoke spoken", "stand": "stood", "steal": "stole stolen", "strike": "struck",
        "swim": "swam swum", "swear": "swore sworn", "tell": "told", "throw": "threw thrown", "wear": "wore worn",
        "understand": "understood", "sue": "sued", "owe": "owed", "grind": "ground", "hang": "hung", "cast": "casts", "dig": "dug", "hear": "heard",
        "sit": "sat", "shake": "shook shaken", "lend": "lent", "sweep": "swept", "overthrow": "overthrew overthrown",
        "undergo": "underwent", "withdraw": "withdrew withdrawn", "feel": "felt", "deal": "dealt", "wake": "woke woken", "tear": "tore torn", "bear": "bore born borne", "bind": "bound", "blow": "blew blown",
        "breed": "bred", "die": "died dead death dying", "foot": "feet",
    }.items()
    for form in forms.split()
}  # fmt: skip

CONTRARIES = (
    ("tall high long large big great wide heavy", "short low small little narrow light"),
    ("taller higher longer larger bigger greater wider heavier", "shorter lower smaller lesser narrower lighter"),
    ("more", "less fewer"), ("old older elder", "young younger new newer"), ("early earlier", "late later"),
    ("first", "last second third final"), ("second", "first third last"), ("before", "after since"),
    ("over above", "under below beneath"), ("until", "since from after"), ("accept approve allow permit grant legalise",
     "reject refuse forbid ban prohibit deny decline"), ("open", "close shut"), ("win defeat beat", "lose"),
    ("begin start", "end finish stop"), ("buy purchase", "sell"), ("import", "export"), ("increase rise grow climb gain raise soar surge jump expand swell",
     "decrease fall shrink decline drop reduce lower cut lose sink plunge plummet slump dwindle contract"), ("love like", "hate dislike"), ("north northern", "south southern"),
    ("east eastern", "west western"), ("left", "right"), ("man male boy", "woman female girl"), ("mother", "father"),
    ("brother", "sister"), ("son", "daughter"), ("husband", "wife"), ("bear", "die"), ("arrive enter join come",
     "leave depart exit quit"), ("enable activate", "disable deactivate"), ("success succeed", "failure fail"),
    ("profit", "loss"), ("day morning", "night evening"), ("winter", "summer"), ("spring", "autumn"), ("upper top", "lower bottom"),
    ("minimum least", "maximum most"), ("legal lawful", "illegal unlawful"), ("guilty convict", "innocent acquit"),
    ("support back endorse", "oppose resist"), ("attack", "defend"), ("appoint hire employ", "dismiss fire sack"),
    ("create build construct found establish", "destroy demolish dissolve abolish"), ("public", "private"),
    ("hot warm", "cold cool"), ("fast quick", "slow"), ("cheap", "expensive costly"), ("require mandatory compulsory",
     "optional voluntary"), ("true correct", "false wrong incorrect"), ("same identical", "different"), ("rich", "poor"),
    ("strong", "weak"), ("safe", "dangerous unsafe"), ("full", "empty"), ("inside", "outside"), ("include", "exclude"),
    ("add", "remove delete"), ("valid", "invalid"), ("possible", "impossible"), ("encrypt", "decrypt"), ("wet", "dry"),
    ("cause", "prevent"), ("agree", "disagree"), ("remember", "forget"), ("improve better best", "worsen worse worst"), ("improve", "drop decline decrease fall deteriorate degrade"),
    ("once", "twice thrice"), ("twice", "thrice half"), ("double twofold", "halve half triple"), ("free", "paid"), ("deny", "say state admit confirm"),
    ("exceed", "lower less fewer smaller"),
    ("mild slight", "severe serious grave"), ("common frequent", "rare uncommon"), ("urban", "rural"), ("deep", "shallow"),
    ("thick", "thin"), ("domestic", "foreign"), ("temporary", "permanent"), ("vertical", "horizontal"), ("solid", "liquid"),
    ("daily", "weekly monthly yearly annual"), ("weekly", "monthly yearly annual"), ("married", "unmarried single divorced"),
    ("surrender", "resist"), ("borrow", "lend"), ("send", "receive"), ("give", "receive take"), ("teach", "learn"),
    ("employer", "employee"), ("parent", "child"), ("positive", "negative"), ("major", "minor"), ("majority", "minority"),
)  # fmt: skip
# Of these both may be true when the two sides are changed about: "A beat B", "B lost to A".
CONVERSE = (("win defeat beat", "lose"), ("buy purchase", "sell"), ("teach", "learn"), ("borrow", "lend"))
MEET = word_set(
    "meet marry border resemble match equal join differ connect separate compare mix combine fight debate"
)
DENYING = word_set("refuse decline deny avoid prevent lack fail cease abandon reject exclude omit")

# Levels of how many or how often, from none to all.
LEVELS = (
    "no none never neither nobody nothing", "few rarely seldom hardly scarcely barely",
    "some sometimes several occasionally one partly", "half", "many often frequently much", "most usually mostly generally",
    "all every always both each everyone everybody entirely completely whole",
)  # fmt: skip
SOME, ALL = 2, len(LEVELS) - 1
LEVEL = {word: level for level, words in enumerate(LEVELS) for word in words.split()}
FRACTIONS = word_set("half third quarter fifth sixth eighth tenth thirds quarters fifths")
SOLE = word_set("only solely exclusively alone")
UNITS = word_set(
    "second minute hour day week month year decade century millisecond mile foot yard inch metre meter kilometre "
    "kilometer centimetre km cm mm pound kilogram gram kg tonne ton litre liter gallon acre hectare degree dollar "
    "euro cent franc yen percent volt watt ampere byte"
)


def base(word: str) -> str:
    """The stem by which words are compared; past forms lead to that of their verb."""
    return stem(past_of(word) or IRREGULAR.get(word, word))


def past_of(word: str) -> str:
    """The verb of a past form that `stem` doesn't lead back to it, also behind a prefix ("rebuilt"); '' for others."""
    if word in FORMS:
        return FORMS[word]
    prefix = next(
        (p for p in ("re", "over", "under", "out", "mis") if word.startswith(p) and word[len(p) :] in FORMS),
        "",
    )
    return prefix + FORMS[word[len(prefix) :]] if prefix else ""


def _pairs(rows: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    found = {(base(a), base(b)) for one, other in rows for a in one.split() for b in other.split()}
    return frozenset(pair for a, b in found if a != b for pair in ((a, b), (b, a)))


_CONTRARY, _CONVERSE = _pairs(CONTRARIES), _pairs(CONVERSE)
SYMMETRIC = frozenset(base(word) for word in MEET)
DENY = frozenset(base(word) for word in DENYING)
UNIT = frozenset(base(word) for word in UNITS)
PREFIXES = ("un", "non", "in", "im", "dis", "ir")


def contrary(a: str, b: str) -> bool:
    """True when a claim with stem `a` where the passage has `b` says something else."""
    return a != b and ((a, b) in _CONTRARY or (opposites(a, b) and turns_round(a, b)))


def unmade(a: str, b: str) -> bool:
    """True when one word is the other with a prefix that denies it: active, inactive."""
    short, long = sorted((a, b), key=len)
    return len(short) > 3 and any(long == prefix + short for prefix in PREFIXES)


def converse(a: str, b: str) -> bool:
    """True when the two say the same with their sides changed about."""
    return (a, b) in _CONVERSE
