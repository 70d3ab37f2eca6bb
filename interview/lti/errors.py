"""What is refused of a launch, in words for whoever clicked the link."""

from __future__ import annotations

AGAIN = "Go back to your course and open the link again, in a window of its own."
# What pylti1p3 raises, as far as somebody can do something about it.
WORDS = {
    "State not found": f"This browser didn’t begin this launch, or it kept no cookie of it. {AGAIN}",
    "Missing state param": f"The launch has no state. {AGAIN}",
    "Invalid Nonce": f"This launch was used already, or it is older than five minutes. {AGAIN}",
    "Unable to find public key": "The platform signed with a key that its key set doesn’t hold. Tell whoever runs it.",
    "Could not find issuer": "The launch names no issuer. Tell whoever runs the platform.",
    "Could not find login hint": "The launch has no login hint. Tell whoever runs the platform.",
    "Missing id_token": f"The platform sent no token. {AGAIN}",
    "Unrecognized message type": "This kind of launch isn’t used here: only resource links and deep linking are.",
}


class LaunchRefused(Exception):
    """A launch that isn't let in; the message says why and what to do."""


def in_words(error: Exception) -> str:
    """The words for an error of the library or of the network."""
    text = str(error)
    return WORDS.get(text, text if isinstance(error, LaunchRefused) else f"The launch isn’t valid: {text}")
