"""The identity lexicons and the stereotype pairs as the tests read them."""

import json
import re
import tomllib
from pathlib import Path

from assay.datasets.lexicon import data_path
from assay.datasets.templates import ATTRIBUTES

PAIRS, WORDS = data_path("stereotypes"), data_path("identities")
SETS = (*ATTRIBUTES, "gender_occupation")
SHARED = Path(__file__).parents[3] / "shared" / "data"
TEXTS = ("stereotype", "anti_stereotype", "reference")


def read(name):
    return [json.loads(line) for line in (PAIRS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def toml(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def words(text):
    return re.findall(r"[\w'-]+", text.lower())


def everything():
    return [record for name in (*SETS, "controls") for record in read(name)]
