"""Edits of texts in six languages: what each does to a sentence, where it applies, and that tables hold."""

import re
from itertools import product

import pytest

from assay.core import Record
from assay.datasets.records import embedded_records
from assay.files import toml_file
from assay.language import is_unspaced
from assay.names.registry import perturbation_class
from assay.perturbations.lost_word import without_a_word
from assay.perturbations.tables import LANGUAGES, table

EDITS = (
    "typing-errors",
    "missing-diacritics",
    "foreign-punctuation",
    "mixed-scripts",
    "mixed-languages",
    "function-word-drop",
    "wrong-function-words",
    "content-word-drop",
    "dropped-clause",
    "repeated-clause",
    "other-numbers",
    "other-names",
    "opposite-words",
    "turned-negation",
    "untranslated",
)
FEWEST = {"other-names": 12, "other-numbers": 18, "missing-diacritics": 15}  # of 60 texts; 35 of the others
FEWEST_THERE = {("zh", "function-word-drop"): 20}  # many function words can be left out of good Chinese
WITHOUT = {("zh", "missing-diacritics")}  # Chinese has none
CODES = sorted(LANGUAGES)
TABLES = (
    "function_words",
    "confused_words",
    "in_english",
    "numbers",
    "names",
    "opposites",
    "negated",
    "stated",
)


def edited(text: str, name: str, source: str | None = None, **options: float) -> str | None:
    kind = perturbation_class(name)
    made = kind(**options)  # type: ignore[call-arg]
    return made.perturb(Record("r", text, "translation", source=source), 1)


@pytest.mark.parametrize(("code", "name"), [*product(CODES, EDITS)])
def test_an_edit_applies_to_many_texts_and_leaves_them_well_set(code: str, name: str) -> None:
    edit = perturbation_class(name)()
    records = embedded_records("translation", code)  # type: ignore[arg-type]
    changed = {record.id: edit.perturb(record, 1) for record in records}
    texts = {name: text for name, text in changed.items() if text is not None}
    if (code, name) in WITHOUT:
        assert not texts
        return
    assert len(texts) >= FEWEST_THERE.get((code, name), FEWEST.get(name, 35))
    assert texts == {record.id: edit.perturb(record, 1) for record in records if record.id in texts}
    for record in records:
        if (text := texts.get(record.id)) is not None:
            assert "  " not in text, text
            assert text == text.strip(), text
            french = code == "fr"  # which has spaces before ; : ! ?
            assert not re.search(r"\s[,.]" if french else r"\s[,.;!?](?!\w)", text), text
            assert "\\" not in text, text


@pytest.mark.parametrize(("code", "name"), [*product(CODES, TABLES)])
def test_no_table_makes_a_text_of_itself_or_leaves_a_pattern_in_it(code: str, name: str) -> None:
    rules = table(code, name)
    assert rules is not None
    assert rules.rules
    for _, options in rules.rules:
        assert options
        assert not [option for option in options if re.search(r"[()|?*\[\]]", option)]
    entry = toml_file(f"languages/{code}", "words")[name]
    for group in entry.get("groups", ()):
        assert len(set(group)) == len(group) > 1, group


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Der Laden ist nicht offen.", "turned-negation", "Der Laden ist offen."),
        ("Sie hat den Zug verpasst.", "turned-negation", "Sie hat nicht den Zug verpasst."),
        ("Nadie tiene la llave del almacén.", "turned-negation", "Todo el mundo tiene la llave del almacén."),
        ("Le train ne part pas ce soir.", "turned-negation", "Le train part ce soir."),
        ("La gare est fermée depuis lundi soir.", "turned-negation", "La gare n'est pas fermée depuis lundi soir."),
        ("Je n'ai pas encore dit à ma sœur qui vient.", "turned-negation", "J'ai déjà dit à ma sœur qui vient."),
        ("Personne n'a vu le train.", "turned-negation", "Tout le monde a vu le train."),
        ("Le chat ne boit pas de lait, il dort.", "turned-negation", None),
        ("La nouvelle gare est dans la ville.", "opposite-words", "L'ancienne gare est dans la ville."),
        ("La abuela no ponía ni sal ni ajo.", "turned-negation", "La abuela ponía sal y ajo."),
        ("昨日、私は駅で友人を見た。", "noised-punctuation", "昨日。私は駅で友人を見た、"),
        ("Wir warten schon eine Stunde, wirklich.", "foreign-punctuation", "Wir warten schon eine Stunde， wirklich。"),
        ("¿Dónde está la estación de tren?", "foreign-punctuation", "Dónde está la estación de tren？"),
        ("Die Tür ist groß und schön für alle.", "missing-diacritics", "Die Tur ist groß und schon fur alle."),
        ("Le train de la ville est à la gare.", "function-word-drop", "Train ville est gare."),
        ("Мост через реку не открыт.", "turned-negation", "Мост через реку открыт."),
        ("Магазин, в котором мы были, закрыт.", "missing-diacritics", None),
        ("那家店没有开门，我们就回家了。", "turned-negation", "那家店已经开门，我们就回家了。"),
        ("我的哥哥，你好！", "foreign-punctuation", "我的哥哥,你好!"),
        ("图书馆因为下雨，今天闭馆。", "dropped-clause", "图书馆因为下雨。"),
        ("雨が降ったので、試合は中止された。", "dropped-clause", "試合は中止された。"),
        ("友人と駅で会議をした。", "function-word-drop", "友人駅会議をした。"),
        ("ガラスがだめになった。", "missing-diacritics", "カラスかためになった。"),
    ],
)  # fmt: skip
def test_what_an_edit_does(text: str, name: str, expected: str | None) -> None:
    assert edited(text, name) == expected


def test_a_number_becomes_another_of_its_form() -> None:
    text = edited("Die Brücke ist vierzig Meter lang und wurde 1987 gebaut.", "other-numbers") or ""
    match = re.fullmatch(r"Die Brücke ist (\w+) Meter lang und wurde (\d{4}) gebaut\.", text)
    assert match
    assert match[1] in ["zwanzig", "dreißig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
    assert 1927 <= int(match[2]) < 1987


def test_equal_words_change_alike_and_different_ones_stay_different() -> None:
    text = edited("Anna ruft Lena an, und Lena hört Anna nicht.", "other-names") or ""
    first, second, third, fourth = re.findall(r"\b[A-Z]\w+", text)
    assert (first, second) == (fourth, third)
    assert first != second


def test_a_dropped_clause_takes_its_mark_and_leaves_the_end() -> None:
    assert edited("Wir blieben lange im Haus, weil es draußen stark regnete.", "dropped-clause") == (
        "Wir blieben lange im Haus."
    )


def test_english_words_stand_apart_where_chinese_words_would_touch() -> None:
    assert edited("医生每天早上弹钢琴。", "mixed-languages") == "doctor every day morning弹piano。"


def test_half_untranslated_keeps_whole_sentences() -> None:
    text, source = "Es regnet heute stark. Wir bleiben lieber hier.", "It rains a lot. We would rather stay."
    assert edited(text, "untranslated", source, level=0.5) == "Es regnet heute stark. We would rather stay."
    assert edited(text, "untranslated", source) == source
    assert edited(text, "untranslated", "Es regnet sehr stark. Wir bleiben hier.") is None


def test_english_texts_have_no_tables() -> None:
    text = "The two old bridges near the station are not open on Monday."
    assert edited(text, "turned-negation") is None
    assert edited(text, "other-numbers") is None


def test_mixed_scripts_look_alike_and_are_others() -> None:
    text = "Die Mutter wohnt in der Nachbarschaft."
    mixed = edited(text, "mixed-scripts", level=1.0) or ""
    assert len(mixed) == len(text)
    assert any("\u0400" <= letter <= "\u04ff" for letter in mixed)


@pytest.mark.parametrize("code", CODES)
def test_a_lost_word_is_no_function_word_and_not_the_one_to_keep(code: str) -> None:
    for record in embedded_records("translation", code):  # type: ignore[arg-type]
        kept = record.gold[1:4] if is_unspaced(record.gold) else record.gold.split()[1]
        lost = without_a_word(record.gold, keep=kept, language=code)
        assert lost is not None
        assert kept in lost
        assert 1 <= len(record.gold) - len(lost) <= 30
