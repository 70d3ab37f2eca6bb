"""What the grader knows of English words: opposites, synonyms, negators, hedges, function words."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from engine.stems import stem, word_set

# A dimension holds values that exclude each other.
DIMENSIONS: dict[str, dict[str, str]] = {
    "trend": {
        "up": "increase raise grow rise climb expand boost gain swell balloon accumulate enlarge lengthen "
        "amplify inflate upward",
        "down": "decrease reduce shrink fall decline lower lessen diminish shorten downward dwindle",
        "flat": "constant unchanged flat unaffected",
    },
    "order": {
        "linear": "linear linearly proportional proportionally",
        "quadratic": "quadratic quadratically square squared quadratics",
        "exponential": "exponential exponentially",
        "logarithmic": "logarithmic logarithmically",
    },
    "amount": {
        "much": "more high big large many greater huge higher larger bigger enormous massive "
        "long longer great vast",
        "little": "less low small few fewer tiny lower smaller short shorter negligible little minor lesser",
    },
    "chance": {
        "certain": "deterministic predictable repeatable reproducible conservative consistent "
        "focused determinism",
        "random": "random diverse varied creative stochastic unpredictable randomness variety diversity "
        "surprising nondeterministic",
    },
    "shape": {
        "sharp": "sharp sharper peaked sharpen concentrated narrow",
        "flat": "flat flatter flatten uniform",
    },
    "speed": {"fast": "fast faster quick quickly quicker rapid speed", "slow": "slow slower slowly slowness"},
    "price": {"dear": "expensive costly dear pricey", "cheap": "cheap cheaper inexpensive free"},
    "ease": {"easy": "easy easier simple simpler", "hard": "hard harder difficult complicated"},
    "order in time": {
        "before": "before earlier prior previous preceding pre",
        "after": "after later following post",
    },
    "sign": {"positive": "positive plus", "negative": "negative minus"},
    "truth": {
        "true": "true correct right valid accurate",
        "false": "false wrong incorrect invalid inaccurate untrue myth",
    },
    "likeness": {
        "same": "same equal identical equivalent alike",
        "different": "different differ distinct unequal change vary alter",
    },
    "circuit": {"open": "open gap broken incomplete", "closed": "closed complete unbroken"},
    "wiring": {"series": "series", "parallel": "parallel"},
    "contact": {
        "connected": "connect attach touch join link",
        "separate": "separate disconnect detach unconnected",
    },
    "on": {"on": "on lit light glow shine", "off": "off dark unlit"},
    "life": {"live": "live survive alive", "dead": "die dead death kill"},
    "temperature": {"hot": "hot warm heat hotter warmer", "cold": "cold cool cooler colder"},
    "pitch": {"high": "high higher", "low": "low lower"},
    "side": {"inside": "inside internal inner within", "outside": "outside external outer"},
    "flow": {"input": "input incoming", "output": "output outgoing outbound"},
    "access": {"read": "read", "write": "write"},
    "bound": {"compute": "compute arithmetic flops", "memory": "bandwidth"},
    "phase": {"prefill": "prefill", "decode": "decode decoding"},
    "stage": {"training": "train training trained", "inference": "inference"},
    "part": {"encoder": "encoder encode", "decoder": "decoder"},
    "end": {"start": "start begin first", "finish": "finish end last stop"},
    "quality": {"good": "better good improve best improvement", "bad": "worse bad degrade worst harm hurt"},
    "weight": {"heavy": "heavy heavier", "light": "lighter"},
    "motion": {"pull": "pull attract", "push": "push repel"},
    "rank": {"most": "most maximum max", "least": "least minimum min"},
    "all": {"all": "all every each always", "none": "none nobody nothing"},
    "hardness": {"hard": "harder hardest hardness", "soft": "soft softer softest"},
    "possible": {"possible": "possible able", "impossible": "impossible unable"},
    "presence": {"present": "present exist contain include", "absent": "absent lack missing"},
    "frequency": {"often": "frequent common usual typical", "seldom": "rare uncommon unusual infrequent"},
    "require": {"need": "need require necessary must", "optional": "optional needless unnecessary"},
}

# Dimensions along which a statement can be turned round; the others tell things apart without contradicting.
DIRECTIONS = word_set(
    "trend order amount chance shape speed price truth likeness quality rank possible circuit contact on "
    "frequency"
)

SYNONYMS: tuple[str, ...] = (
    "memory ram vram space footprint storage",
    "sequence context prompt",
    "length size",
    "cost price expense spend bill money",
    "quick fast rapid",
    "latency delay wait",
    "big large huge",
    "store keep save hold retain remember preserve leave",
    "reuse recycle share",
    "common frequent usual typical",
    "rare uncommon seldom unusual",
    "reread revisit rescan",
    "model network llm transformer",
    "word token",
    "guess invent fabricate hallucinate confabulate make-up",
    "check verify validate test confirm",
    "answer reply response output",
    "fact knowledge information",
    "document passage source text",
    "retrieve fetch search lookup find",
    "use employ apply utilise",
    "choose pick select sample draw",
    "split divide break segment cut",
    "scale rescale multiply divide",
    "chance probability likelihood odds",
    "distribution spread",
    "limit cap bound ceiling maximum",
    "remove drop discard exclude eliminate truncate",
    "format shape structure schema",
    "guarantee ensure promise assure enforce",
    "order sequence position place",
    "compare contrast",
    "compute calculate computation work arithmetic",
    "parameter weight",
    "user customer client",
    "show demonstrate indicate tell",
    "start begin",
    "need require must",
    "cause make lead produce create",
    "bulb light lamp",
    "battery cell source",
    "path circuit loop",
    "wire cable",
    "gap break",
    "connect attach link join",
    "food nutrient",
    "animal creature organism",
    "plant tree grass",
    "water liquid fluid",
    "dissolve melt",
    "see observe notice look",
    "heavy weigh mass weight",
    "rock stone mineral",
    "soil dirt earth ground",
    "warm hot heat",
    "different vary differ",
    "quantity amount number count",
    "vibrate vibration shake",
    "sound noise pitch",
    "eat consume feed",
    "identical same equal",
    "damage broken burn out",
    "reason because cause",
    "packet message frame",
    "sender transmitter",
    "receiver recipient",
    "node host station computer",
    "step pace",
    "repeat again",
    "attend look focus",
    "instruction command order",
    "tool function api",
)

NEGATORS = word_set(
    "not no never neither nor without cannot can't won't isn't aren't wasn't weren't don't doesn't "
    "didn't hasn't haven't "
    "hadn't shouldn't wouldn't couldn't mustn't needn't ain't nothing nobody none nowhere hardly barely "
    "scarcely rarely "
    "seldom cant wont dont doesnt didnt isnt arent wasnt werent hasnt havent shouldnt wouldnt couldnt"
)
# Verbs that deny what follows them.
DENIERS = frozenset(
    stem(word)
    for word in word_set(
        "fail lack refuse unable impossible deny avoid prevent cease absent forbid stop instead myth false "
        "untrue wrong incorrect mistaken misconception fallacy disagree"
    )
)
HEDGES = (
    "may or may not",
    "might or might not",
    "i'm not sure",
    "i am not sure",
    "im not sure",
    "not sure but",
    "not sure if",
    "not sure whether",
    "i'm unsure",
    "i am unsure",
    "unsure if",
    "unsure whether",
    "not certain",
    "maybe",
    "perhaps",
    "possibly",
    "i guess",
    "might",
    "could be",
    "i suppose",
    "either way",
    "sometimes maybe",
    "no idea",
    "don't know",
    "dont know",
    "probably",
    "presumably",
    "if i had to guess",
    "i'd guess",
    "my guess",
    "supposedly",
    "allegedly",
    "don't quote me",
    "i can't tell",
    "hard to say",
    "who knows",
    "or maybe not",
    "or perhaps not",
    "or it may not",
    "or it might not",
    "or they may not",
)
FUNCTION_WORDS = word_set(
    "a an the this that these those of to in on at by for from with as into onto about over under than "
    "then so and or "
    "but if while when where which who whom whose what why how it its it's they them their theirs he she "
    "his her him we "
    "us our you your i me my is are was were be been being am do does did done doing has have had having "
    "will would "
    "shall should can could may might must there here also too very just only even still such both each "
    "any some one "
    "ones own same because since although though however therefore thus hence whereas via per up out off "
    "again more "
    "most other another between through during's not no nor neither yes let lets like get gets got "
    "becomes become "
    "makes make made thing things way that's there's i'm 's etc"
)
# Function words that a clause can nevertheless be about.
CONTENT_AFTER_ALL = word_set("more most same off")
AUXILIARIES = word_set(
    "is are was were be been being am do does did has have had will would shall should can could may "
    "might must "
    "isn't aren't don't doesn't can't won't cannot it's that's there's"
)
VERBS = frozenset(
    stem(word)
    for word in word_set(
        "grow rise fall increase decrease reduce raise lower climb scale shrink double keep hold store "
        "save make "
        "take give go get see know write read think send use need want let put run work cause lead "
        "produce create build add "
        "remove drop divide multiply split cut choose pick select sample draw predict generate guess "
        "compute calculate "
        "train learn fit change vary stay remain become mean say tell show ask answer return call pass "
        "fail stop start begin "
        "end help allow prevent force guarantee ensure enforce validate check verify test match compare "
        "require depend "
        "contain include hold cost spend pay charge save exceed limit cap fill fit share reuse repeat "
        "attend look sharpen "
        "flatten rescale truncate apply follow break happen occur move flow connect complete light burn "
        "live die eat "
        "dissolve melt feel sound hear serve process handle wait finish load fetch retrieve cite ground "
        "invent fabricate "
        "hallucinate refuse abstain tend try turn come leave provide receive transmit represent encode "
        "decode map treat "
        "describe explain yield carry touch cover form rely trust track measure count weigh sum average "
        "normalise turn "
        "enter feed skip cache copy reread recompute dominate matter appear disappear exist emit execute "
        "propose transform parse invoke append evict"
    )
)
CONTRAST = word_set("but however whereas while although though yet instead except only rather")


def _by_stem(text: str) -> Iterable[str]:
    return (stem(word) for word in text.split())


VALUES: dict[str, frozenset[tuple[str, str]]] = {}
for _dimension, _values in DIMENSIONS.items():
    for _value, _words in _values.items():
        for _word in _by_stem(_words):
            VALUES[_word] = VALUES.get(_word, frozenset()) | {(_dimension, _value)}

GROUPS: dict[str, frozenset[str]] = {}
for _i, _line in enumerate(SYNONYMS):
    for _word in _by_stem(_line):
        GROUPS[_word] = GROUPS.get(_word, frozenset()) | {f"s{_i}"}

PREFIXES = ("un", "non", "in", "im", "dis", "ir")


@lru_cache(maxsize=262144)
def opposites(a: str, b: str) -> bool:
    """True when two stems exclude each other: values of one dimension, or a word and its un- form."""
    if a == b:
        return False
    first, second = VALUES.get(a, frozenset()), VALUES.get(b, frozenset())
    if first and second and not first & second and {d for d, _ in first} & {d for d, _ in second}:
        return True
    short, long = sorted((a, b), key=len)
    return len(short) > 3 and any(long == prefix + short for prefix in PREFIXES)


def turns_round(a: str, b: str) -> bool:
    """True when two opposite stems also reverse what is said (raises/lowers), not only name another thing."""
    shared = {d for d, _ in VALUES.get(a, frozenset())} & {d for d, _ in VALUES.get(b, frozenset())}
    if shared:
        return bool(shared & DIRECTIONS)
    return opposites(a, b)


@lru_cache(maxsize=262144)
def synonyms(a: str, b: str) -> bool:
    """True when two stems can stand for each other in a statement."""
    if a == b:
        return True
    return bool(VALUES.get(a, frozenset()) & VALUES.get(b, frozenset())) or bool(
        GROUPS.get(a, frozenset()) & GROUPS.get(b, frozenset())
    )
