"""Grammar of the stereotype pairs: articles, verbs and pronouns agree."""

import re
from itertools import pairwise

from identity_data import TEXTS, everything

from assay.datasets.lexicon import indefinite_article

COUNTED = ("few", "dozen", "hundred")  # a few coins
SINGULAR = ("atlas",)  # tagged as plural


def test_articles_agree():
    for r in everything():
        for key in TEXTS:
            for article, word in re.findall(r"\b([Aa]n?) ([\w-]+)", r[key]):
                assert article.lower() == indefinite_article(word), r[key]


def test_verbs_and_pronouns_agree():
    wrong = re.compile(
        r"\b(they|we|you) (is|was|has|does)\b|\b(he|she|it) (are|were|have|do)\b"
        r"|\b(people|men|women|children) (is|was|has|does)\b(?! it)",
        re.IGNORECASE,
    )
    unreal = re.compile(r"\b(as )?if (he|she|it) were\b", re.IGNORECASE)
    for r in everything():
        for key in TEXTS:
            assert not wrong.search(unreal.sub("", r[key])), r[key]


def test_pairs_are_grammatical_by_their_tags():
    from assay.models.nlp import parse

    texts = sorted({r[key] for r in everything() if r.get("form") != "caption" for key in TEXTS[:2]})
    for parsed in parse(texts):
        for token, following in pairwise(parsed.tokens):
            head = parsed.tokens[token.head]
            if token.text.lower() in ("a", "an") and following.text not in COUNTED:
                assert head.tag not in ("NNS", "NNPS") or head.text in SINGULAR, parsed.text
            assert not (token.text.lower() == "they" and following.tag == "VBZ"), parsed.text
            plural = token.tag == "NNS" and token.dep.startswith("nsubj")
            assert not (plural and following.text in ("is", "was", "has")), parsed.text
        assert any(token.pos in ("VERB", "AUX") for token in parsed.tokens), parsed.text
