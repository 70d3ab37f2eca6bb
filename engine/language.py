"""Is a text English? Decided by function words, scripts and how far the word list knows its words."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.stems import word_set

ENGLISH = word_set(
    "the a an of to in is are and that it for with as on by be this which or from at not can because so "
    "if when than "
    "each its has have but they will more does only then into one what you we would no was were been "
    "there their"
)
OTHERS: dict[str, frozenset[str]] = {
    "German": word_set(
        "der die das und ist nicht ein eine einen einem einer mit für auf den dem des von zu im wird "
        "werden sind auch "
        "sich weil dass wenn oder aber nur wie bei durch jeder jede jedes jedem pro mehr kann haben hat "
        "es wir wächst "
        "linear speicher je um"
    )
    - {"linear"},
    "French": word_set(
        "le la les des et est pas une un dans pour qui que sur avec plus par ce cette sont il elle ne du "
        "au aux chaque "
        "mais ou car donc parce se ses leur en de l d c qu"
    ),
    "Spanish": word_set(
        "el la los las y es no una un en para que con por se del al como más pero cada porque su sus lo "
        "está son de "
        "esto este esta cuando"
    )
    - {"no"},
    "Italian": word_set(
        "il lo la gli le e è non una un in per che con di del della dei delle si al alla come più ma "
        "ogni perché sono "
        "questo questa quando nel nella"
    )
    - {"in", "per"},
    "Portuguese": word_set(
        "o os as e é não uma um em para que com por se do da dos das ao como mais mas cada porque são "
        "isso quando no na "
        "de"
    )
    - {"as", "no", "do", "o"},
    "Dutch": word_set(
        "de het een en van is niet dat op te voor met zijn ook aan er maar om als bij door wordt worden "
        "deze meer elke "
        "omdat dus naar dan"
    )
    - {"is", "op"},
    "Polish": word_set("i w na nie jest się że do to z jak dla są przez co po ale każdy oraz lub od")
    - {"i", "to", "do"},
    "Swedish": word_set("och är inte en ett att det som på för med av den till varje men eller om så")
    - {"en", "so", "for"},
    "Turkish": word_set("ve bir bu için ile değil da de olarak her çok daha olan gibi ama") - {"her", "de"},
}
WORDS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
FEWEST_WORDS = 4
FOREIGN_SHARE = 0.25
UNKNOWN_SHARE = 0.6


def not_english(text: str, known: Callable[[str], bool] | None = None) -> bool:
    """True when a text is clearly in another language; `known` tells whether a word is an English one."""
    words = [word.lower() for word in WORDS.findall(text)]
    letters = sum(map(len, words))
    foreign_script = sum(1 for word in words for char in word if ord(char) > 0x24F)
    if letters and foreign_script / letters > 0.5:
        return True
    if len(words) < FEWEST_WORDS:
        return False
    english = sum(word in ENGLISH for word in words) / len(words)
    other = max(sum(word in vocabulary for word in words) for vocabulary in OTHERS.values()) / len(words)
    if other >= FOREIGN_SHARE and other > 1.5 * english:
        return True
    return known is not None and english < 0.05 and _mostly_unknown(words, known)


def _mostly_unknown(words: list[str], known: Callable[[str], bool]) -> bool:
    long = [word for word in words if len(word) > 3]
    unknown = sum(not known(word) for word in long)
    return len(long) >= 6 and unknown / len(long) > UNKNOWN_SHARE
