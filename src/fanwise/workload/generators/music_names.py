"""Names of a music service that exists nowhere: artists, playlists, people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_ADJECTIVES = (
    "amber", "arctic", "blåa", "broken", "bronze", "calm", "cobalt", "copper", "crimson", "distant",
    "dusty", "electric", "evening", "faded", "feral", "frozen", "gentle", "golden", "hidden",
    "hollow", "indigo", "ivory", "little", "lonely", "loud", "lunar", "midnight", "naïve", "neon",
    "northern", "paper", "pale", "patient", "quiet", "restless", "rusty", "secret", "seventh",
    "silver", "sleepy", "slow", "solar", "southern", "stolen", "thirsty", "velvet", "violet",
    "wandering", "wild", "winter",
)  # fmt: skip
_THINGS = (
    "anchors", "avenue", "birds", "canyon", "cathedral", "cinema", "comets", "delta", "echoes",
    "engines", "fables", "ferries", "fjord", "foxes", "gardens", "ghosts", "harbour", "horses",
    "islands", "kites", "lanterns", "letters", "lions", "machines", "mirrors", "motel", "mountain",
    "ocean", "orchard", "owls", "parade", "pilots", "pines", "planets", "radio", "rivers", "rooms",
    "sailors", "shadows", "signals", "sirens", "stations", "storms", "strangers", "tides", "tigers",
    "trains", "wolves", "yards", "zephyr",
)  # fmt: skip
_MOODS = (
    "after-work", "autumn", "baking", "breakfast", "campfire", "coding", "coffee", "commute",
    "cooking", "dance", "dinner", "driving", "fika", "focus", "friday", "gaming", "garage", "gym",
    "hiking", "homework", "kitchen", "late-night", "midsommar", "monday", "morning", "party",
    "rainy-day", "reading", "road-trip", "running", "shower", "sleep", "spring", "summer", "sunday",
    "surf", "throwback", "travel", "walking", "weekend",
)  # fmt: skip
_GENRES = (
    "acoustic", "afrobeat", "ambient", "blues", "bossa", "chill", "classics", "country", "covers",
    "disco", "dub", "electro", "folk", "funk", "grunge", "hip-hop", "house", "indie", "jazz",
    "latin", "lo-fi", "metal", "opera", "piano", "pop", "punk", "reggae", "rock", "salsa", "ska",
    "soul", "strings", "swing", "synth", "techno", "trance",
)  # fmt: skip
_FIRST = (
    "adam", "agnes", "aisha", "alva", "amir", "ana", "anton", "astrid", "björn", "carla", "chen",
    "clara", "daniel", "diego", "ebba", "elif", "elsa", "emil", "erik", "fatima", "felix", "freja",
    "hanna", "hugo", "ida", "ines", "ivan", "jonas", "josé", "julia", "kai", "karin", "lars",
    "leila", "liam", "linnéa", "lucas", "maja", "marco", "maria", "mei", "mona", "nils", "noor",
    "olga", "oskar", "paula", "petra", "rafael", "rania", "rosa", "samir", "sara", "simon", "sofia",
    "sven", "tara", "tomás", "vera", "viktor", "wei", "yara", "yusuf", "zoë",
)  # fmt: skip
_LAST = (
    "åberg", "ahmed", "almeida", "andersson", "bauer", "becker", "berg", "bianchi", "blom", "costa",
    "dahl", "demir", "díaz", "ek", "eriksson", "fischer", "fors", "garcia", "gomez", "hansen",
    "haddad", "holm", "ito", "jansen", "jensen", "johansson", "kaya", "khan", "kim", "kowalski",
    "larsen", "lind", "lopez", "lund", "meyer", "moreau", "müller", "nakamura", "nguyen", "nilsson",
    "novak", "nyström", "okafor", "olsen", "park", "patel", "pereira", "petrov", "popov", "rossi",
    "sandberg", "santos", "sato", "schmidt", "silva", "singh", "ström", "tanaka", "virtanen",
    "wang", "weber", "yilmaz", "zhang", "öberg",
)  # fmt: skip


def artist_names(count: int, rng: np.random.Generator) -> pa.Array:
    """``artist:velvet-harbour``, each once."""
    return _combine("artist:", _ADJECTIVES, "-", _THINGS, count, rng)


def playlist_names(count: int, rng: np.random.Generator) -> pa.Array:
    """``playlist:rainy-day-jazz``, each once."""
    return _combine("playlist:", _MOODS, "-", _GENRES, count, rng)


def friend_names(count: int, rng: np.random.Generator) -> pa.Array:
    """``friend:maja.lind``, each once: people whose listening others follow."""
    return _combine("friend:", _FIRST, ".", _LAST, count, rng)


def user_names(count: int, rng: np.random.Generator) -> pa.Array:
    """``user:maja.lind``, each once: subscribers."""
    return _combine("user:", _FIRST, ".", _LAST, count, rng)


def _combine(
    prefix: str,
    first: Sequence[str],
    joint: str,
    second: Sequence[str],
    count: int,
    rng: np.random.Generator,
) -> pa.Array:
    """Join words in random order; once all pairs of words are used up, number further rounds."""
    rounds, pair = np.divmod(np.arange(count), len(first) * len(second))
    order = rng.permutation(count)
    pair, rounds = pair[order], rounds[order]
    words = (
        pa.scalar(prefix),
        _pick(first, pair // len(second)),
        pa.scalar(joint),
        _pick(second, pair % len(second)),
        pc.if_else(
            pa.array(rounds > 0),
            pc.binary_join_element_wise(pa.scalar("-"), pa.array(rounds + 1).cast(pa.string()), ""),
            "",
        ),
    )
    return pc.binary_join_element_wise(*words, "")


def _pick(words: Sequence[str], index: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(words).take(pa.array(index))
