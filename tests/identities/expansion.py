"""How the pairs of occupations and pronouns are made from their frames."""

import hashlib
import re
from collections import Counter
from itertools import product

from assay.datasets.templates import fill_slots, load_lexicon, load_occupations
from assay.files import toml_file

_POSSESSIVE = ("his", "hers")


def occupation_records():
    """Occupation-pronoun pairs (Table 1 of unfair): half refer to a female-stereotyped occupation."""
    table = toml_file("stereotypes", "gender_occupation.templates")
    female, male = ([o for o in load_occupations() if o.stereotype == s] for s in ("female", "male"))
    # WinoBias's occupations meet only each other, so that leaving them out leaves whole pairs.
    pool = [pair for pair in product(female, male) if pair[0].winobias == pair[1].winobias]
    names = {pair: [occupation.name for occupation in pair] for pair in pool}
    used = Counter()
    for frame in table["template"]:
        for n in range(table["take"]):
            best = min(pool, key=lambda p: (sum(used[o] for o in names[p]), _digest(frame["id"], *names[p])))
            used.update(names[best])
            yield _occupation_record(frame, best if n % 2 else best[::-1], n + 1)


def _occupation_record(frame, pair, n):
    slots, referent = {"first": pair[0].name, "second": pair[1].name}, pair[frame["refers"] - 1]
    groups = ("female", "male") if referent.stereotype == "female" else ("male", "female")
    pronouns = [load_lexicon("gender").groups[group].pronouns.slots() for group in groups]
    case = next(slot for slot in re.findall(r"\{([^{}]*)\}", frame["text"]) if slot in pronouns[0])
    phrase = f"the {referent.name}" + ("'s" if case in _POSSESSIVE else "")
    one, other, reference = (fill_slots(frame["text"], slots | by) for by in (*pronouns, {case: phrase}))
    return {
        "id": f"{frame['id']}-{n}", "attribute": "gender", "stereotype": one, "anti_stereotype": other,
        "reference": reference, "group": groups[0], "anti_group": groups[1], "identity": pronouns[0][case],
        "anti_identity": pronouns[1][case], "template": frame["id"], "construction": "replace",
        "type": frame["type"], "occupation": referent.name, "winobias": referent.winobias,
    }  # fmt: skip


def _digest(*parts):
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
