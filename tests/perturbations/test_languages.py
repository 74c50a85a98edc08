"""Perturbations and languages: what needs English leaves other texts alone, the rest works on any script."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from assay.audits.checklist.audit import Checklist
from assay.audits.corpora import language_notes
from assay.core import Perturbation, Record
from assay.errors import DataError
from assay.language import join_words, language_of, split_sentences_of, split_words
from assay.names.registry import perturbation_class
from assay.perturbations.checklist.catalogue import catalogue
from assay.perturbations.ratio import noise_ratio

TEXTS = {
    "de": (
        "Der Rat hat gestern eine neue Regel beschlossen, die den Verkehr senken soll. Die Händler lehnten sie "
        "ab. Am Hafen lagen 25 alte Boote."
    ),
    "fr": (
        "Le conseil a présenté hier une nouvelle règle sur la circulation. Les marchands l'ont rejetée. Il y "
        "avait 25 vieux bateaux dans le port."
    ),
    "es": (
        "El consejo presentó ayer una nueva regla sobre el tráfico. Los comerciantes la rechazaron. Había 25 "
        "barcos viejos en el puerto."
    ),
    "zh": "议会昨天提出了一项关于交通的新规定。商人们拒绝了它。港口里有25条旧船，非常安静。",
    "ar": "قدم المجلس أمس قاعدة جديدة بشأن حركة المرور. رفضها التجار. كان هناك 25 قاربا قديما في الميناء.",
}
OTHERS = {
    "de": "Die Lehrerin sprach 12 Minuten lang. Dann ging sie nach Hause.",
    "fr": "La maîtresse a parlé pendant 12 minutes. Puis elle est rentrée.",
    "es": "La maestra habló durante 12 minutos. Luego se fue a casa.",
    "zh": "老师讲了12分钟。然后她回家了。",
    "ar": "تحدثت المعلمة لمدة 12 دقيقة. ثم عادت إلى البيت.",
}
FREE = (
    "truncation", "token-drop", "repeated-token", "local-swap", "middle-swap", "sentence-switching",
    "sub-sentence-switching", "token-switching", "noised-punctuation", "sentence-replacement", "repeated-ending",
    "frequent-ngrams", "copied-source", "injection", "change-numbers", "repeat-sentences", "random-text",
)  # fmt: skip


def made(name: str) -> Perturbation:
    kind: type[Perturbation] = perturbation_class(name)
    return kind()


def record(code: str) -> Record:
    text, other = TEXTS[code], OTHERS[code]
    return Record("a", text, "translation", source=other, context=(other, text), others=(text, other))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *((text, code) for code, text in TEXTS.items()),
        *((text, code) for code, text in OTHERS.items()),
        ("The council passed a rule.", "en"),
        ("A man in a red shirt climbs a rock.", "en"),
        ("Two dogs running through deep snow", "en"),
        ("Sure, go ahead.", ""),
        ("Wow!", ""),
        ("...", ""),
        ("", ""),
        ("名前は何ですか。", "ja"),
    ],
)
def test_languages_are_told_apart(text: str, code: str) -> None:
    assert language_of(text) == code


def test_a_short_text_has_the_language_of_its_neighbours() -> None:
    assert Record("a", "Ja, gerne.", "dialogue", context=(TEXTS["de"],)).language == "de"
    assert Record("a", "Sure.", "dialogue", others=("The dog is at the door.",)).language == "en"
    assert Record("a", "Sure.", "dialogue").language == ""


@pytest.mark.parametrize("code", TEXTS)
def test_templates_that_read_english_leave_other_texts_alone(code: str) -> None:
    for name in {entry.template for entry in catalogue()}:
        perturbation = made(name)
        if perturbation.languages is not None:
            assert perturbation.perturb(record(code), 1) is None, name


@pytest.mark.parametrize("code", TEXTS)
@pytest.mark.parametrize("name", FREE)
def test_the_rest_works_on_any_language(name: str, code: str) -> None:
    changed = made(name).perturb(record(code), 1)
    assert changed
    assert changed != TEXTS[code]
    if name != "injection":
        assert language_of(changed) == code


@pytest.mark.parametrize("name", ["local-swap", "token-switching", "middle-swap", "sentence-switching"])
def test_chinese_moves_by_characters_and_loses_none(name: str) -> None:
    changed = made(name).perturb(record("zh"), 2)
    assert changed is not None
    assert Counter(changed) == Counter(TEXTS["zh"])
    assert "25" in changed
    assert " " not in changed


def test_words_of_any_script() -> None:
    assert split_words("他有3只 GPS 表。") == ["他", "有", "3", "只", "GPS", "表", "。"]
    assert split_words("Das Café, ja.") == ["Das", "Café,", "ja."]
    assert join_words(["GPS", "3", "表"], "表") == "GPS 3表"
    assert noise_ratio("他来了。", "他了。") == 0.25
    assert split_sentences_of('Er kam am 3. Mai. "Gut!" Sie ging.') == [
        "Er kam am 3. Mai.",
        '"Gut!"',
        "Sie ging.",
    ]


def test_figures_change_in_any_language_but_not_years() -> None:
    text = "Im Jahr 1998 kamen 25 Boote, 1,5 Tonnen Fisch und 40 Leute in die Stadt."
    changed = made("change-numbers").perturb(Record("a", text, "translation"), 3)
    assert changed is not None
    assert "1998" in changed
    assert "1,5" in changed
    assert " 25 " not in changed


def test_a_run_says_once_what_was_not_applied() -> None:
    templates = [made("negate"), made("antonyms"), made("change-numbers"), made("negate")]
    german = [record("de")] * 3
    assert language_notes("german.jsonl", german, templates, "templates") == [
        "2 templates need English; the texts of german.jsonl look German: not applied"
    ]
    english = Record("b", "The dog is at the door.", "translation")
    assert language_notes("mixed", [*german, english], [made("negate")]) == [
        "negate needs English; 3 of 4 texts of mixed look German: not applied"
    ]
    assert language_notes("english", [english], templates) == []


def test_a_checklist_without_any_template_for_a_language_says_so(tmp_path: Path) -> None:
    text = "Die Fähre verließ den Hafen am frühen Morgen, obwohl der Wind stärker wurde."
    rows = [
        {"id": f"g{n}", "gold": text, "references": ["Früh am Morgen fuhr die Fähre bei starkem Wind aus."]}
        for n in range(3)
    ]
    (tmp_path / "german.jsonl").write_text("\n".join(map(json.dumps, rows)))
    audit = Checklist(data=(tmp_path / "german.jsonl",), task=("translation",))
    with pytest.raises(DataError, match=r"templates need English; the texts of german\.jsonl look German"):
        list(audit.cases())
