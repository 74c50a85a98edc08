"""The noises of *blind*: exact texts, invariants over every noise, odd input."""

from __future__ import annotations

import re
from collections import Counter
from math import ceil
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.audits.stress.audit import levels
from assay.core import Perturbation, Record
from assay.errors import WeightsError
from assay.models.nlp import parse_one
from assay.names.registry import find
from assay.perturbations.ratio import alignment, noise_ratio

GOLD = (
    "She went to the office in Boston. And she talked to her staff about Paris, because Anna Smith did not "
    "like the plan. They were late again. The three managers had signed a contract with Siemens on Monday."
)
OTHERS = ("The dog slept on a blue sofa. It was tired.", "Nobody saw the ships leave. Tom sang loudly.")
NOISES = [*levels("summaries", "careful"), "token-switching", "sub-sentence-switching"]


def made(name: str, **fields: object) -> Perturbation:
    noise: Perturbation = find("perturbations", name)[0](**fields)
    return noise


def record(gold: str) -> Record:
    return Record("a", gold, "summarisation", others=(gold, *OTHERS))


@pytest.mark.parametrize(
    ("name", "level", "gold", "noised"),
    [
        ("truncation", 0.3, "One two three four five six seven.", "One two three four five."),
        ("truncation", 0.5, "One two, three four.", "One two,."),
        ("article-removal", 1.0, "The cat saw a dog. An owl slept.", "Cat saw dog. Owl slept."),
        ("noised-punctuation", 1.0, "Yes, she came. Why? Look: now!", "Yes. she came, Why, Look. now,"),
        ("verb-lemmatisation", 1.0, "She went home and walked.", "She go home and walk."),
        ("preposition-removal", 1.0, "She sat in the room on a chair.", "She sat the room a chair."),
        ("stop-word-removal", 1.0, "He walked the dog at night.", "Walked dog night."),
        ("sentence-switching", 1, "Anna slept. Tom sang loudly.", "Tom sang loudly. Anna slept."),
        ("middle-swap", 1, "She walked slowly to the old station.", "The old station she walked slowly to."),
        ("negation", 1.0, "She went to work.", "She did not go to work."),
        ("negation", 1.0, "They were late.", "They were not late."),
        ("negation", 1.0, "She didn't go home.", "She went home."),
        ("negation", 1.0, "He can't swim.", "He can swim."),
        ("negation", 1.0, "She'll come soon.", "She won't come soon."),
        ("negation", 1.0, "They have left.", "They haven't left."),
        ("verb-lemmatisation", 1.0, "He hopes they reconnected.", "He hope they reconnect."),
        ("noised-punctuation", 1.0, "See x.org: 3.5 of 1,000.", "See x,org. 3,5 of 1.000,"),  # as the release
        ("middle-swap", 1, "The men who left saw the U.S. today.", "The U.S. today the men who left saw."),
        ("middle-swap", 1, "The dog ran, said the U.S. today, etc. to all.", "Today, etc. to all the dog ran, said the U.S."),
    ],
)  # fmt: skip
def test_exact_texts(name: str, level: float, gold: str, noised: str) -> None:
    assert made(name, level=level).perturb(record(gold), 1) == noised


@pytest.mark.parametrize(
    ("name", "gold", "noised"),
    [
        ("verb-lemmatisation", "THE COMMITTEE APPROVED TWO PLANS.", "THE COMMITTEE APPROVE TWO PLANS."),
        ("negation", "THE COMMITTEE APPROVED TWO PLANS.", "THE COMMITTEE DID NOT APPROVE TWO PLANS."),
        ("middle-swap", "SHE IS NOT HAPPY, BUT HE WAS.", "BUT HE WAS SHE IS NOT HAPPY."),
    ],
)
def test_loud_text_stays_loud(name: str, gold: str, noised: str) -> None:
    assert made(name, level=1).perturb(record(gold), 1) == noised


@pytest.mark.parametrize(
    ("name", "gold", "noised"),
    [
        ("stop-word-removal", "Smith's dog isn't lazy.", "Smith dog lazy."),
        ("stop-word-removal", "Oh, it's cold and we cannot swim.", "Oh, cold swim."),
        ("stop-word-removal", "Dogs, i.e. pets of the U.S. army, bark.", "Dogs, i.e. pets U.S. army, bark."),
        ("negation", "Dogs, i.e. the U.S. army, isn't here.", "Dogs, i.e. the U.S. army, is here."),
        ("article-removal", "The dogs, i.e. big ones, saw a cat.", "Dogs, i.e. big ones, saw cat."),
    ],
)
def test_only_the_target_changes(name: str, gold: str, noised: str) -> None:
    assert made(name, level=1.0).perturb(record(gold), 1) == noised


@pytest.mark.parametrize(
    ("gold", "noised"),
    [
        ("Anna Smith lives in Paris.", "{} person lives in {} place."),
        ("People, i.e. Anna Smith, left.", "People, i.e. {} person, left."),
        ("Bega Cheese boss Aidan Coleman left.", "Bega Cheese boss person left."),
        ("The Manchester United striker met Mr Smith's dog.", "{} organization striker met {} person's dog."),
        ("She likes Germany's Munich.", "She likes {} place's place."),
    ],
)
def test_names_become_generic(gold: str, noised: str) -> None:
    """An article is drawn, as in the release; after a noun, an adjective or an owner there is none."""
    pattern = re.escape(noised).replace(r"\{\}", "(?:some|an?|Some|An?)")
    texts = [made("generic-named-entity", level=1.0).perturb(record(gold), seed) for seed in range(12)]
    assert all(text and re.fullmatch(pattern, text) for text in texts), texts
    assert len(set(texts)) > 1 or "{}" not in noised


@pytest.mark.parametrize(
    ("name", "gold"),
    [
        ("generic-named-entity", "My neighbour plays the cello."),
        ("generic-named-entity", "Basalt is a dark rock that forms when runny lava cools."),
        ("generic-named-entity", "Boredom is not itself a creative state."),
        ("named-entity-switching", "It lives in Africa, Australia and Madagascar."),
        ("named-entity-switching", "Pupils of 1980 have been retired since Fatoumata came in 2020."),
        ("negation", "Nobody came, and he had no choice."),
        ("negation", "It requires neither card."),
        ("negation", "They exchanged not only silk."),
        ("negation", "He only wanted to sleep."),
    ],
)
def test_a_noise_leaves_alone_what_it_would_spoil(name: str, gold: str) -> None:
    assert {made(name, level=1).perturb(record(gold), seed) for seed in range(8)} == {None}


def test_names_change_places_with_names_of_their_kind() -> None:
    gold = (
        "In 1980 Anna Smith left Paris with 40 friends. Tom Brown of Berlin and Bonn met the FBI on Monday."
    )
    changed = {made("named-entity-switching").perturb(record(gold), seed) for seed in range(30)}
    assert changed == {
        gold.replace("Anna Smith", "@").replace("Tom Brown", "Anna Smith").replace("@", "Tom Brown"),
        gold.replace("Paris", "@").replace("Berlin", "Paris").replace("@", "Berlin"),
        gold.replace("Paris", "@").replace("Bonn", "Paris").replace("@", "Bonn"),
    }


def test_a_negated_verb_is_in_its_base_form() -> None:
    assert made("negation").perturb(record("But he hopes they win."), 1) == "But he does not hope they win."


def test_compounds_and_capitals_stay_whole_in_a_switch() -> None:
    gold = "Police counted a crowd of 700. The twelve-guest study of fire stations made champions of people."
    for seed in range(20):
        text = made("noun-switching", level=2).perturb(record(gold), seed)
        assert text is not None
        assert "twelve-guest" in text
        assert "fire stations" in text
        assert all(sentence[0].isupper() for sentence in text.split(". "))
        assert " Police" not in text


def test_a_mark_inside_a_figure_ends_no_sub_sentence() -> None:
    gold = "Mr. Lee sold 40,000 books, paid 3.9 million, and left x.org, he said."
    for seed in range(10):
        text = made("sub-sentence-switching").perturb(record(gold), seed) or ""
        assert all(part in text for part in ("40,000 books,", "3.9 million,", "x.org,", "Mr. Lee"))


def test_stop_words_leave_no_orphan_marks() -> None:
    noise = made("stop-word-removal", level=1.0)
    assert (
        noise.perturb(record('A camel may be "that". Rooms, however, were cheap.'), 1)
        == "Camel. Rooms, cheap."
    )


def test_a_local_swap_may_go_back_but_is_never_made_twice() -> None:
    """With two places and two swaps of each, the release ends where it began in some draws."""
    texts = {made("local-swap", level=1.0).perturb(record("one two three"), seed) for seed in range(60)}
    assert {"two three one", "three one two"} <= texts


def test_a_word_cut_out_of_a_longer_one_leaves_words() -> None:
    parsed = parse_one("We cannot swim.")
    assert parsed.replaced({1: ""}) == "We not swim."
    assert parsed.replaced({2: ""}) == "We can swim."


@pytest.mark.parametrize(
    "gold",
    [
        "👩\u200d👩\u200d👧 The woman is tall.",
        "\"I won't go,\" she said (quietly), [the old man] replied: 'It's 5 o'clock {now}.' «Oui», he said.",
        "See https://x.org/a_b?c=1 and mail a@b.com, i.e. the U.S. Dr. Smith's dog isn't here.",
    ],
)
def test_only_words_are_switched(gold: str) -> None:
    """Of emoji, quotes and links the tagger makes nouns; too few real ones are left here."""
    assert {made("noun-switching").perturb(record(gold), seed) for seed in range(5)} == {None}


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("gold", ["", "   ", "\n\n"])
def test_nothing_is_made_of_nothing(name: str, gold: str) -> None:
    """A text comes, or none; never a blank one."""
    assert (made(name).perturb(record(gold), 1) or "a text").strip()


@pytest.mark.parametrize("name", NOISES)
def test_a_noise_is_its_seed_and_never_silent(name: str) -> None:
    noise = made(name)
    texts = [noise.perturb(record(GOLD), seed) for seed in range(1, 6)]
    assert texts == [noise.perturb(record(GOLD), seed) for seed in range(1, 6)]
    assert any(text is not None for text in texts)
    assert all(text != GOLD for text in texts)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("gold", ["Yes.", "Oh!", "Rain", "...", "Blue green red", "Stop it now.", "名前"])
def test_odd_texts_change_or_do_not_apply(name: str, gold: str) -> None:
    text = made(name).perturb(record(gold), 1)
    assert text is None or text.strip() not in ("", gold)


@pytest.mark.parametrize("level", [0.05, 0.2, 0.5])
def test_drop_and_repeat_change_the_share_they_name(level: float) -> None:
    count = len(GOLD.split())
    for name in ("token-drop", "repeated-token"):
        noised = made(name, level=level).perturb(record(GOLD), 3)
        assert noised is not None
        assert noise_ratio(GOLD, noised) == pytest.approx(ceil(count * level) / count)


@pytest.mark.parametrize("name", ["local-swap", "token-switching", "sentence-switching"])
def test_a_switch_loses_no_word(name: str) -> None:
    noised = made(name).perturb(record(GOLD), 2)
    assert noised is not None
    assert Counter(noised.split()) == Counter(GOLD.split())


def test_the_last_sentence_stays_where_it_is_told_to() -> None:
    for seed in range(10):
        noised = made("sentence-switching", level=6, last=False).perturb(record(GOLD), seed)
        assert noised is None or noised.endswith(
            "The three managers had signed a contract with Siemens on Monday."
        )


def test_two_items_or_fewer_are_not_switched() -> None:
    assert made("noun-switching").perturb(record("The dog saw a cat."), 1) is None
    assert made("verb-switching").perturb(record("He came and saw."), 1) is None


def test_verbs_are_inflected_for_their_place() -> None:
    gold = "She sings. They walked home. He is eating."
    found = {made("verb-switching", level=1).perturb(record(gold), seed) for seed in range(20)}
    assert "She walks. They sang home. He is eating." in found


def test_without_others_nothing_is_replaced() -> None:
    assert made("sentence-replacement").perturb(Record("a", GOLD, "summarisation"), 1) is None


def test_replacement_takes_whole_sentences_of_others() -> None:
    noised = made("sentence-replacement", level=4).perturb(record(GOLD), 5)
    strangers = {
        "The dog slept on a blue sofa.",
        "It was tired.",
        "Nobody saw the ships leave.",
        "Tom sang loudly.",
    }
    assert noised is not None
    assert any(sentence in noised for sentence in strangers)


def test_noise_ratio_by_hand() -> None:
    assert noise_ratio("a b c d", "a c d") == 0.25
    assert noise_ratio("a b c d", "d b c a", switched=True) == 0.25
    assert noise_ratio("", "a") == 0.0


@given(st.lists(st.sampled_from("abcd"), min_size=1), st.lists(st.sampled_from("abcd"), min_size=1))
@settings(max_examples=60, deadline=None)
def test_alignment_rebuilds_the_noised_text(gold: list[str], noised: list[str]) -> None:
    words = list(gold)
    for edit in reversed(alignment(" ".join(gold), " ".join(noised))):
        words[edit.start : edit.start + len(edit.before.split())] = edit.after.split()
    assert words == noised


def test_bert_diverge_reads_a_masked_model(tmp_path) -> None:
    """With a tiny random model every replacement comes from its vocabulary."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    words = ["she", "went", "home", "sang", "red", "blue", "cat", "dog", "tree", "stone", "moon", "river"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *words]
    places = {word: place for place, word in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=places).save_pretrained(tmp_path)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path)
    noise = made("bert-diverge", level=0.5, model=str(tmp_path))
    noised = noise.apply(Record("a", "she went home .", "translation"), Random(3))
    assert noised is not None
    assert noised != "she went home ."
    assert len(alignment("she went home .", noised)) <= 2


def test_bert_diverge_refuses_a_model_without_the_head(tmp_path) -> None:
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "she"]
    places = {word: place for place, word in enumerate(words)}
    transformers.BertTokenizerFast(vocab=places).save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=6, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    with pytest.raises(WeightsError, match="lacks 6 tensors that AutoModelForMaskedLM needs"):
        made("bert-diverge", model=str(tmp_path)).perturb(record("she she she she"), 1)
