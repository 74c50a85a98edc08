"""The identity lexicons and the stereotype pairs as the tests read them."""

import json
import re
import tomllib
from pathlib import Path

from assay.datasets.templates import ATTRIBUTES, load_lexicon
from assay.files import data_path

PAIRS, WORDS = data_path("stereotypes"), data_path("identities")
SETS = (*ATTRIBUTES, "gender_occupation", "intersections")
PAPER = ATTRIBUTES[:6]
SHARED = Path(__file__).parents[3] / "shared" / "data"
TEXTS = ("stereotype", "anti_stereotype", "reference")
FORMS = ("sentence", "caption", "reply", "summary", "translation", "question", "first-person", "two-sentence")
# Groups that may stand against each other: one kind of difference. By default all groups of an attribute.
AXES = {
    "gender": [{"female", "male", "non-binary"}, {"transgender", "cisgender"}],
    "physical-appearance": [
        {"fat", "thin", "muscular"},
        {"tall", "short"},
        {"attractive", "plain"},
        {"blond", "dark-haired", "red-haired"},
    ],
    "disability": [
        {"physical", "non-disabled"},
        {"blind", "sighted"},
        {"deaf", "hearing"},
        {"autistic", "dyslexic", "neurotypical"},
        {"intellectual", "non-disabled"},
        {"mental-illness", "non-disabled"},
    ],
}


def read(name):
    return [json.loads(line) for line in (PAIRS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def toml(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def words(text):
    return re.findall(r"[\w'-]+", text.lower())


def everything():
    return [record for name in SETS for record in read(name)]


def axes(name):
    return AXES.get(name) or [set(load_lexicon(name).groups)]
