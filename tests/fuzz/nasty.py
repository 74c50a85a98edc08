"""A corpus of texts that break programs, and ways to make more of them."""

from __future__ import annotations

from random import Random

from mutations import NASTY_TEXTS

PROSE = (
    "The old nurse in Paris said that she had not seen 3 dogs on Monday, 5 May 2019, because it was raining.",
    "Dr. Smith's company won't pay $1,200.50 to Mary; nobody knows why!",
    "Is the red car faster than the blue one? Yes, it is. They drove it home quickly.",
    "A man and a woman are playing tennis in a green field near two large trees.",
)
CORPUS = tuple(
    dict.fromkeys(
        [
            *PROSE,
            *(text for text in NASTY_TEXTS if text.strip()),
            *(f"{PROSE[0]} {text}" for text in NASTY_TEXTS),
        ]
    )
)


def nasty_text(rng: Random) -> str:
    """Prose with bad pieces in it, or bad pieces alone."""
    words = rng.choice(PROSE).split()
    for _ in range(rng.randint(0, 4)):
        words.insert(rng.randint(0, len(words)), rng.choice(NASTY_TEXTS))
    kept = words[: rng.randint(1, len(words))]
    return rng.choice((" ", " ", " ", "", "\n")).join(kept)
