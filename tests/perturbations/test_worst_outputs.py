"""Outputs on real text that were wrong once, each as a sentence of the same build."""

from __future__ import annotations

import re

import pytest

from assay.core import Record
from assay.datasets.records import embedded_records
from assay.names.registry import perturbation_class
from assay.vocabulary import Task

SEEDS = range(12)


def made(name: str, gold: str, task: Task = "translation", **fields: object) -> set[str | None]:
    record = Record("x", gold, task, **fields)  # type: ignore[arg-type]
    return {perturbation_class(name)().perturb(record, seed) for seed in SEEDS}


@pytest.mark.parametrize(
    ("name", "gold"),
    [
        ("negation", "Naturally there are no limits."),
        ("change-attributes", "A black boy runs."),
        ("change-attributes", "Two white men and a black woman wave."),
        ("change-gender", "A boy and a girl play on the beach."),
        ("change-gender", "Men and women dance."),
        ("change-question-word", "Why don't you start doing it then?"),
        ("change-question-word", "How don't you see it?"),
        ("change-question-word", "What does your sister look like?"),
        ("change-question-word", "How are you feeling today?"),
        ("drop-question-word", "How much did the painting cost?"),
        ("drop-question-word", "When will the next flight be?"),
        ("question-to-statement", "How was your trip with Anna?"),
        ("question-to-statement", "What does your mother do, may I ask?"),
        ("drop-questions", "Can I join your family?"),
        ("drop-questions", "Well! Do you want to eat it here?"),
        ("antonyms", "Domestic violence matters."),
        ("antonyms", "It comes complete with a lamp."),
        ("antonyms", "The gap is 100ft wide."),
        ("antonyms", "Often there are delays."),
        ("antonyms", "No visa is necessary for them."),
        ("reorder-sentences", "Ben sold a boat. Ann bought a house."),
        ("reorder-sentences", "READ: Ben stays in town."),
        ("change-verbs", "What do you raise by 4%?"),
        ("drop-modifiers", "He allegedly stole it."),
        ("change-names", "Ciro Immobile scored."),
        ("drop-questions", "Did you call me? I lost my phone so I didn't know that you called me."),
        ("drop-questions", "What can I say about it? It happened all of a sudden."),
        ("change-question-word", "Which flavour you do not like?"),
        ("change-question-word", "What else can be performed?"),
        ("change-question-word", "What happens if you don't eat them?"),
        ("reorder-sentences", "A chunk of cash was handed out. He said the poor ones ought to get it."),
        ("reorder-sentences", "The crash had ten people in it. The crash happened near the river."),
        ("repeat-phrases", "It's your move."),
        ("drop-articles", "We have analysts at different stages of the production."),
        ("drop-articles", "The regiments formed one company and a section."),
        ("drop-prepositions", "They fled from the scene."),
        ("drop-phrases", "Despite that, he praised the new songs."),
        ("drop-phrases", "It can also be used to enhance engagement in life."),
        ("drop-modifiers", "The current owner waved."),
        ("drop-modifiers", "Auctioneers are worried renovation costs could rise."),
        ("change-numbers", "An 11 p.m. curfew was set."),
        ("change-numbers", "It lies along the 165 road to the coast."),
        ("change-dates", "It was inspired by the film Saturday Night Fever."),
        ("change-dates", "The army was led by August von Mackensen."),
        ("change-names", "There was talk of a continuation of Dallas."),
        ("change-names", "I worked for years in Africa."),
        ("antonyms", "It is located directly south of the lake."),
        ("antonyms", "Her position was confirmed in the spring."),
        ("siblings", "The euro qualifier sold out."),
        ("siblings", "Swimming the breaststroke leg, she won."),
        ("siblings", "His second wife, Elinore, died in Rome."),
        ("siblings", "She was saving for her babies grave stone."),
        ("siblings", "The blood parrot cichlid waits in his hand."),
        ("siblings", "They burned the royal palace."),
        ("siblings", "A man was swept away at noon."),
        ("siblings", "She is not happy with how they are shown."),
        ("siblings", "He is the father of modern farming."),
        ("siblings", "The robbery was caught on camera."),
        ("question-to-statement", "What is closing time of the gallery?"),
        ("question-to-statement", "What specific places do you wish to visit?"),
        ("question-to-statement", "What's special about it except its pleasant smell?"),
        ("drop-stop-words", "She ’ s your sister and he asked for duck soup."),
        ("drop-stop-words", "It's ok, just leave it."),
        ("contractions", "Who did it is a mystery."),
        ("contractions", "How many tickets do we have left?"),
        ("quotation-style", "Neymar and Alves support Barcelona 's basketball ."),
        ("siblings", "There is some dispute about this pyramid."),
        ("siblings", "They flew over the baltic river."),
        ("siblings", "He obliterated him with German Suplexes."),
        ("siblings", "Winds carried smoke from the wildfires across the bay."),
        ("siblings", "He declined to become a cardinal of the church."),
        ("siblings", "Trollope began to write his first novel."),
        ("siblings", "The camera may be taken down after the engineers examine it."),
        ("siblings", "September also reveals to Peter that they needed him."),
        ("question-to-statement", "What else arrangements have you made?"),
        ("question-to-statement", "Which kind do you prefer?"),
        ("question-to-statement", "How can that be?"),
        ("misplaced-punctuation", "Mostly, yes."),
        ("nouns-to-pronouns", "They slept there. The old technology will be removed."),
        ("question-to-statement", "What's the name of this street?"),
        ("question-to-statement", "What did you give your mother?"),
        ("question-to-statement", "Who can help me?"),
        ("drop-question-word", "How should I know?"),
        ("drop-question-word", "Where are you heading to?"),
        ("drop-question-word", "Why don't you come with us?"),
        ("drop-modifiers", "That is a brilliant idea."),
        ("drop-modifiers", "She hired a personal trainer."),
        ("drop-modifiers", "He paid with a red card."),
        ("antonyms", "They built a new toll road."),
        ("antonyms", "It was an unofficial and unauthorised report."),
        (
            "split-sentence",
            "Continuing east, the freeway crosses into Greenwich Township and has an interchange.",
        ),
    ],
)
def test_is_left_alone(name: str, gold: str) -> None:
    assert made(name, gold, others=("She sold the lamp.", "They moved the box.")) == {None}


@pytest.mark.parametrize(
    ("name", "gold", "changed"),
    [
        ("negation", "But she hopes they stay.", "But she does not hope they stay."),
        ("question-to-statement", "How much did it cost for the roof?", "It cost something for the roof."),
        ("drop-questions", "That's great news! When is the wedding?", "That's great news!"),
        ("nouns-to-pronouns", "Children who took the pills as babies were ill.", None),
        ("nouns-to-pronouns", "Naoki Ogane says that the club sold it.", None),
        ("nouns-to-pronouns", "Liverpool forwards Raheem Sterling and Jordan Moss were seen.", None),
        ("drop-stop-words", "Nobody saw the dog, and it did not bark.", "Nobody saw dog, not bark."),
        ("drop-stop-words", "I don't know him or his tall sister.", "Don't know tall sister."),
        ("drop-stop-words", "A man is riding on his back tire.", "Man riding back tire."),
        ("drop-stop-words", "We had lunch together in the old park.", "Lunch together old park."),
        ("drop-stop-words", "Russia and the US come into contact often.", "Russia US come contact often."),
        ("drop-stop-words", "The areas do n't get much sun.", "Areas do n't get much sun."),
        ("drop-question-word", "Fine. When will I get it?", "Fine. Will I get it?"),
        (
            "agreement",
            "It is old technology that cause trouble.",
            "It are old technology that cause trouble.",
        ),
    ],
)
def test_becomes(name: str, gold: str, changed: str | None) -> None:
    texts = made(name, gold, "summarisation")
    if changed is None:
        assert all(
            text is None or not re.search(r"\b(It|they|them)\b", text.replace("sold it", ""))
            for text in texts
        ), texts
    else:
        assert texts == {changed}


def test_a_person_whose_gender_no_list_knows_gets_no_pronoun() -> None:
    assert all(
        "It revealed" not in str(text) for text in made("nouns-to-pronouns", "The Dutchman revealed a plan.")
    )
    assert made("nouns-to-pronouns", "Man United signed Mr Lee.", "summarisation") == {"It signed him."}
    assert made("nouns-to-pronouns", "Liverpool face Aston Villa in the cup.") == {"They face it in the cup."}


def test_names_keep_their_capitals_where_phrases_move() -> None:
    others = ("Cantor's first ten papers were short.",)
    for text in made("add-text", "The bridge was closed for a week.", "summarisation", others=others):
        assert text == "The bridge was closed for a week, and Cantor's first ten papers were short."
    assert all(
        "city's" not in str(text) for text in made("repeat-phrases", "City's players have new contracts.")
    )


def test_a_new_name_comes_from_the_region_of_the_old_one() -> None:
    from assay.datasets.lexicon import first_names, surnames

    for text in made("change-names", "Chiara Ferrari met Ben."):
        match = re.fullmatch(r"(\S+) (\S+) met Ben\.", str(text))
        assert match, text
        assert first_names()[match[1]].region == surnames()[match[2]] == "western_europe"


def test_what_refers_to_an_earlier_sentence_comes_first() -> None:
    gold = "Radan Falk joined the club on loan. The season began. READ: Ben stays. He has scored twice."
    texts = made("reorder-sentences", gold, "summarisation")
    assert all(str(text).startswith("He has scored twice.") for text in texts)
    assert all("READ: Ben stays." in str(text) for text in texts)


@pytest.mark.parametrize(
    ("turn", "replies"),
    [
        ("Could you open my account?", {"Sure.", "Yes, of course."}),
        ("Do you like it here?", {"Yes.", "Oh, yes."}),
        ("Would you mind waiting?", {"No, not at all.", "No, go ahead."}),
        ("Tea or coffee?", {"Either is fine with me."}),
        ("How about next week?", {"That sounds good.", "Sounds fine to me."}),
        ("Why don't we walk?", {"That sounds good.", "That would be fine."}),
        ("I turned it off early.", {"I see.", "Oh, I see."}),
        ("It is incredible.", {"Yeah.", "Right."}),
        ("A: Show me a hat, please.", {"Sure.", "Of course."}),
        ("Yes, take your time, please.", {"Sure.", "Of course."}),
    ],
)
def test_a_generic_reply_fits_the_kind_of_the_last_turn(turn: str, replies: set[str]) -> None:
    texts: set[str | None] = set()
    for gold in (
        "It was Ben who closed the shop.",
        "Grapes are cheap in the market.",
        "I left the red coat in Ann's car.",
    ):
        texts |= made("generic-reply", gold, "dialogue", context=("Hm.", turn))
    assert replies <= texts
    assert texts <= set(_listed(next(iter(replies))))


@pytest.mark.parametrize(
    "turn",
    ["Thanks a million.", "Hello, Anna.", "I'm so sorry.", "Good night, Ben.", "Congratulations on the house.",
     "How are you?", "Have a good day.", "What about your daughter?", "How about the price?",
     "When's your birthday?", "What was the weather like in Rome?", "You really know your stuff!",
     "Won't you watch TV?", "I'd like a hat, please.", "I'm not sure I understand."],
)  # fmt: skip
def test_no_generic_reply_where_one_is_apt(turn: str) -> None:
    gold = "It was Ben who left the red coat there."
    assert made("generic-reply", gold, "dialogue", context=("Hm.", turn)) == {None}


def test_no_generic_reply_for_one_that_says_no_more() -> None:
    assert made("generic-reply", "I got it.", "dialogue", context=("Hm.", "It is on the shelf.")) == {None}
    echo = "Yes, please reserve a seat on that flight."
    assert made("generic-reply", echo, "dialogue", context=("Shall I reserve a seat on this flight?",)) == {
        None
    }


@pytest.mark.parametrize(
    "turn",
    ["Not at all, Sam.", "That time is okay with me.", "What about the pay? Money moves few people.",
     "And the other class?"],
)  # fmt: skip
def test_no_generic_reply_where_it_would_not_fit(turn: str) -> None:
    assert made("generic-reply", "Grapes are cheap in the market.", "dialogue", context=(turn,)) == {None}


@pytest.mark.parametrize(
    "turn",
    ["They may ask you for your papers.", "We might need six more hours.", "You must have a wonderful time.",
     "Here is our price list.", "I don't think I can afford that."],
)  # fmt: skip
def test_no_contrary_of_what_is_only_possible_or_pointed_at(turn: str) -> None:
    assert made("contradict", "Fine by me.", "dialogue", context=(turn, "Really?")) == {None}


@pytest.mark.parametrize(
    "reply",
    ["Yes, I think so too.", "It is such a good idea of yours.", "All right, let me see.",
     "Her lamps shine upon wooden tables in every kitchen."],
)  # fmt: skip
def test_a_reply_that_may_fit_by_chance_is_not_unrelated(reply: str) -> None:
    gold, telling = "She sold the lamp in town.", "My uncle repaired the garden fence before Easter morning."
    replies = {
        perturbation_class("random-response")().perturb(_answer(gold, (reply, telling)), n)
        for n in range(400)
    }
    assert reply not in replies
    assert telling in replies


def test_a_reply_loses_what_takes_up_the_last_turn() -> None:
    gold, reply = (
        "She sold the lamp in town.",
        "Yes, sure! The museum opens the old gallery on Monday morning.",
    )
    replies = {
        perturbation_class("random-response")().perturb(_answer(gold, (reply,)), n) for n in range(400)
    }
    assert "The museum opens the old gallery on Monday morning." in replies


def _answer(gold: str, others: tuple[str, ...]) -> Record:
    return Record("x", gold, "dialogue", context=("Shall we eat?",), others=others)


def test_unrelated_replies_are_many() -> None:
    """A reply that stands for many items would count as many findings."""
    template = perturbation_class("random-response")()
    records = embedded_records("dialogue")
    drawn = [template.perturb(record, seed) for seed in range(3) for record in records][:300]
    assert len(set(drawn)) >= 150
    assert None not in drawn


def test_what_is_no_certain_name_is_not_made_generic() -> None:
    assert made("generic-named-entity", "It signed a deal with Yokohama Rubber.") == {None}


def test_a_league_and_a_team_do_not_change_places() -> None:
    gold = "Southampton are fourth in the Premier League. Chelsea met them."
    assert all(text is None or "the Premier League" in text for text in made("named-entity-switching", gold))


def test_a_surname_that_is_read_as_a_verb_has_no_object() -> None:
    gold = "Andros Townsend an 83rd minute sub in Tottenham's draw with Burnley. He won nothing."
    assert made("nouns-to-pronouns", gold) == {None}


@pytest.mark.parametrize(
    "reference",
    ["A woman walks her dog in the park.", "A man does not walk his dog in the park.",
     "A boat sails along the coast at night.", "A man waits to walk his dog in the park.",
     "A man lies with his dog in the park.", "A man walks his cat in the park.", "An man walks his dog in the park."],
)  # fmt: skip
def test_a_reference_that_says_something_else_is_no_alternative(reference: str) -> None:
    gold, short = "A man walks his dog in the park.", "A dog."
    assert made("alternative-reference", gold, "translation", references=(reference, short)) == {None}


def test_captions_of_one_picture_are_no_alternatives() -> None:
    reference, other = "A brown dog chases a ball on the grass.", "A dog chases a brown ball on grass."
    gold = "The brown dog chases a ball on the grass."
    assert made("alternative-reference", gold, "image-captioning", references=(reference, other)) == {None}


@pytest.mark.parametrize(("colour", "told"), [("orange", False), ("brown", True)])
def test_an_alternative_has_no_other_colour(colour: str, told: bool) -> None:
    gold = "A brown and white dog chases a ball on the grass."
    reference = f"An {colour} dog chases a ball on the grass.".replace("An b", "A b")
    expected = reference if told else None
    assert made("alternative-reference", gold, "translation", references=(reference, "A dog.")) == {expected}


def test_two_siblings_never_become_one() -> None:
    for text in made("siblings", "Italy let them in. In January it was cold. In March it was warm."):
        months = [
            word
            for word in (text or "").rstrip(".").split()
            if word in ("January", "February", "March", "April")
        ]
        assert len(set(months)) == 2


def _listed(reply: str) -> list[str]:
    """All replies of the kind that one belongs to."""
    from assay.files import jsonl_file

    rows = jsonl_file("words", "generic_replies")
    kind = next(row["after"] for row in rows if row["text"] == reply)
    return [row["text"] for row in rows if row["after"] == kind]
