"""NLI and UniEval by hand; summary and dialogue metrics on planted texts and step by step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.core import Sample
from assay.errors import WeightsError
from assay.metrics.entailment import (
    Nli,
    NliFaithful,
    UniEval,
    UniEvalData,
    UniEvalDialog,
    UniEvalFact,
    questions,
)
from assay.metrics.summary import Blanc, DialogueModel, DialogueRelevance, Gruen, Supert, redundancy
from assay.models.encoder import embed
from assay.models.nlp import split_sentences
from assay.models.torch import content_ids, load

LABELS = {0: "contradiction", 1: "neutral", 2: "entailment"}


@pytest.fixture(scope="module")
def nli(bert: Callable[..., Path]) -> Path:
    return bert("BertForSequenceClassification", name="nli", id2label=LABELS)


def entails(folder: Path, premise: str, claim: str, label: int = 2) -> float:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return float(model(**tokenizer(premise, claim, return_tensors="pt")).logits[0].softmax(-1)[label])


def test_nli_both_directions(nli: Path) -> None:
    sample = Sample("the cat sat", ("a dog ran", "the cat"))
    p = [entails(nli, text, "the cat sat") for text in sample.references]
    r = [entails(nli, "the cat sat", text) for text in sample.references]
    f = [2 * a * b / (a + b) for a, b in zip(p, r, strict=True)]
    assert np.allclose(Nli(model=str(nli)).score([sample]).values[0], [max(f), max(p), max(r)], atol=1e-5)


def test_nli_aggregates_as_summac_and_by_document(nli: Path) -> None:
    sample = Sample("the cat sat. a dog ran.", source="the man rose. the firm. no profit.")
    table = [
        [entails(nli, premise, claim) for premise in ("the man rose.", "the firm.", "no profit.")]
        for claim in ("the cat sat.", "a dog ran.")
    ]
    summac = NliFaithful(model=str(nli)).score([sample]).values[0]
    assert summac == pytest.approx(np.max(table, axis=1).mean(), abs=1e-5)
    whole = [entails(nli, sample.source or "", claim) for claim in ("the cat sat.", "a dog ran.")]
    for by in ("document", "chunks"):  # one chunk holds this source
        found = NliFaithful(model=str(nli), by=by).score([sample]).values[0]  # type: ignore[arg-type]
        assert found == pytest.approx(np.mean(whole), abs=1e-5)
    assert NliFaithful(model=str(nli)).score([Sample("", source="the cat.")]).values == [None]


def test_nli_by_chunks_takes_the_best_piece_of_whole_sentences(bert: Callable[..., Path]) -> None:
    nli = bert("BertForSequenceClassification", name="long-nli", limit=2048, id2label=LABELS)
    sentence = "the firm made a profit today ok. "  # 7 words, so that 350 is the end of one
    source = sentence * 50 + "the dog sat on a mat. " + "a man rose. " * 4
    pieces = (sentence * 50).strip(), "the dog sat on a mat. " + " ".join(["a man rose."] * 4)
    claims = "the cat sat.", "the shares rose, no profit."
    table = np.array([[entails(nli, piece, claim) for piece in pieces] for claim in claims])
    metric = NliFaithful(model=str(nli), by="chunks")
    scores = metric.score([Sample(" ".join(claims), source=source), Sample(claims[0], source=sentence * 51)])
    assert scores.values[0] == pytest.approx(table.max(axis=1).mean(), abs=1e-5)
    one_more = [entails(nli, piece, claims[0]) for piece in (pieces[0], sentence.strip())]
    assert scores.values[1] == pytest.approx(max(one_more), abs=1e-5)


def test_nli_needs_a_label_that_means_entailment(bert: Callable[..., Path]) -> None:
    folder = bert("BertForSequenceClassification", name="topics", id2label={0: "sport", 1: "news"})
    with pytest.raises(WeightsError, match="label=NAME"):
        Nli(model=str(folder)).prepare()
    found = Nli(model=str(folder), label="news").score([Sample("cat", ("dog",))]).values[0]
    assert found[1] == pytest.approx(entails(folder, "dog", "cat", 1), abs=1e-5)


def test_unieval_asks_the_authors_questions() -> None:
    sample = Sample("Firm rose . The shares .", ("Ref",), source="Doc")
    coherence, consistency, fluency, relevance = questions("unieval", sample).values()
    assert coherence == [
        "question: Is this a coherent summary to the document? </s> summary: Firm rose . The shares . "
        "</s> document: Doc"
    ]
    assert consistency[0] == (
        "question: Is this claim consistent with the document? </s> claim: Firm rose . </s> document: Doc"
    )
    assert fluency[1] == "question: Is this a fluent paragraph? </s> paragraph: The shares ."
    assert relevance == [
        "question: Is this summary relevant to the reference? </s> summary: Firm rose . The shares . "
        "</s> reference: Ref"
    ]


def answers_of(t5: Path) -> Callable[[str], float]:
    """How the model answers a question, by hand."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(t5), AutoModelForSeq2SeqLM.from_pretrained(t5).eval()

    def answer(question: str) -> float:
        ids = tokenizer(question, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            logits = model(input_ids=ids, decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[0, 0]
        chances = logits.softmax(-1)
        return float(chances[3] / (chances[3] + chances[4]))  # Yes, No

    return answer


def test_unieval_by_hand(t5: Path) -> None:
    answer = answers_of(t5)
    sample = Sample(
        "The firm made profit . shares rose .", ("The firm rose", "a profit"), source="The firm ."
    )
    four = list(questions("unieval", sample).values())
    row = [np.mean([answer(text) for text in texts]) for texts in four[:3]]
    row.append(max(answer(text) for text in four[3]))
    expected = [*row, np.mean(row)]
    assert np.allclose(UniEval(model=str(t5)).score([sample]).values[0], expected, atol=1e-5)
    assert UniEval(model=str(t5)).score([Sample("", ("a",), source="b")]).values == [None]


def test_unieval_of_dialogue_facts_and_data_asks_the_authors_questions(t5: Path) -> None:
    answer = answers_of(t5)
    sample = Sample("I do . Did you rise ?", ("The firm rose", "No"), source="Hi !\nHello .\nFact: a profit")
    asked = questions("unieval-dialog", sample)
    assert asked["engagingness"] == [
        "question: Is this an engaging and informative response according to the dialogue history and fact? </s> "
        f"response: {part} </s> dialogue history: Hi !\nHello . </s> fact: a profit"
        for part in ("I do .", "Did you rise ?")
    ]
    assert asked["groundedness"] == [
        "question: Is this response consistent with knowledge in the fact? </s> response: I do . Did you rise ? "
        "</s> fact: a profit"
    ]
    row = [
        sum(answer(text) for text in texts) for texts in asked.values()
    ]  # only engagingness has two questions
    found = UniEvalDialog(model=str(t5)).score([sample]).values[0]
    assert np.allclose(found, [*row, np.mean(row)], atol=1e-5)
    claims = questions("unieval-fact", sample)["consistency"]
    assert claims[0].endswith("</s> claim: I do . </s> document: Hi !\nHello .\nFact: a profit")
    (fact,) = UniEvalFact(model=str(t5)).score([sample]).values
    assert fact == pytest.approx(np.mean([answer(text) for text in claims]), abs=1e-5)
    natural, informative = questions("unieval-data", sample).values()
    row = [answer(natural[0]), max(answer(text) for text in informative)]
    assert np.allclose(UniEvalData(model=str(t5)).score([sample]).values[0], [*row, np.mean(row)], atol=1e-5)
    for kind in (UniEvalDialog, UniEvalFact, UniEvalData):
        assert kind(model=str(t5)).score([Sample("", ("a",), source="b")]).values == [None]


def test_supert_aligns_words_of_content(bert: Callable[..., Path]) -> None:
    metric = Supert(model=str(bert()), top=2)
    sample = Sample("the cat sat.", source="the dog ran. a man. shares rose.")
    loaded = metric.load_model()
    known = embed(loaded, ["the cat sat.", "the dog ran.", "a man."], "warn")

    def content(text: str, words: tuple[str, ...]) -> np.ndarray:
        tokens = loaded.tokenizer.convert_ids_to_tokens(list(known[text].ids))
        return known[text].vectors[[tokens.index(word) for word in words]]

    left = content("the cat sat.", ("cat", "sat"))
    right = np.concatenate([content("the dog ran.", ("dog", "r", "##a", "##n")), content("a man.", ("man",))])
    kept = metric._content(known["the dog ran."].ids, loaded)
    tokens = loaded.tokenizer.convert_ids_to_tokens(list(known["the dog ran."].ids))
    if [tokens[place] for place in kept] == ["dog", "r", "##n"]:  # "a" is a stop word wherever it stands
        right = np.concatenate([content("the dog ran.", ("dog", "r", "##n")), content("a man.", ("man",))])
    cosines = left @ right.T
    p, r = cosines.max(1).mean(), cosines.max(0).mean()
    assert metric.score([sample]).values[0] == pytest.approx(2 * p * r / (p + r), abs=1e-5)
    assert metric.score([Sample("the.", source="a cat.")]).values == [None]


def test_blanc_counts_what_the_summary_adds(bert: Callable[..., Path]) -> None:
    folder = bert("BertForMaskedLM")
    loaded = load("AutoModelForMaskedLM", str(folder))
    sample = Sample("woman profit", source="shares rose profit woman firm")
    ids = loaded.tokenizer("shares rose profit woman firm", add_special_tokens=False)["input_ids"]
    summary = loaded.tokenizer("woman profit", add_special_tokens=False)["input_ids"]
    dot = loaded.tokenizer(".", add_special_tokens=False)["input_ids"]
    right = {True: 0, False: 0}
    for shift in range(2):
        places = list(range(shift, 5, 2))
        hidden = [loaded.tokenizer.mask_token_id if i in places else token for i, token in enumerate(ids)]
        for helped, before in ((True, summary), (False, dot * 2)):
            row = torch.tensor([[2, *before, *hidden, 3]])
            with torch.no_grad():
                best = loaded.model(row).logits[0].argmax(-1).tolist()
            right[helped] += sum(best[3 + place] == ids[place] for place in places)
    found = Blanc(model=str(folder), gap=2).score([sample]).values[0]
    assert found == pytest.approx((right[True] - right[False]) / 5)
    assert Blanc(model=str(folder)).score([Sample("a", source=". .")]).values == [None]


def test_gruen_punishes_repetition(bert: Callable[..., Path], causal: Callable[..., Path]) -> None:
    metric = Gruen(model=str(causal("gpt2")), encoder=str(bert()))
    once = "The cat sat."
    assert redundancy([once, once]) == 4
    assert redundancy(["The cat sat on a mat now.", "A dog ran far away from home."]) == 0
    values = metric.score([Sample(once), Sample(f"{once} {once}"), Sample("")]).values
    assert values[2] is None
    assert values[1] == pytest.approx(max(0.0, values[0] - 0.4), abs=1e-6)


def test_gruen_reads_so_much_of_a_sentence_as_its_authors(
    bert: Callable[..., Path], causal: Callable[..., Path]
) -> None:
    """A model that holds thousands of tokens would take minutes over a text without a full stop."""
    metric = Gruen(model=str(causal("gpt2", 1024)), encoder=str(bert()))
    same = "a" * 510
    found = metric.score([Sample(same + "b" * 90), Sample(same + "c" * 300)])
    assert found.values[0] == found.values[1]
    room = [len(ids) - 510 for ids in content_ids(metric.load_model(), [same + "b" * 90, same + "c" * 300])]
    assert found.notes["truncated"] == room
    assert min(room) > 0


def test_dialogue_relevance_reads_the_last_turns(bert: Callable[..., Path]) -> None:
    metric = DialogueRelevance(model=str(bert()), turns=1)
    one = metric.score([Sample("the cat sat", source="no\nthe cat sat")]).values[0]
    assert one == pytest.approx(1.0, abs=1e-5)
    assert metric.score([Sample("", source="no")]).values == [None]


def test_dialogue_model_reads_next_sentence_heads(bert: Callable[..., Path]) -> None:
    from transformers import AutoTokenizer, BertForNextSentencePrediction

    folder = bert("BertForNextSentencePrediction")
    tokenizer, model = (
        AutoTokenizer.from_pretrained(folder),
        BertForNextSentencePrediction.from_pretrained(folder),
    )
    with torch.no_grad():
        logits = model.eval()(**tokenizer("the man\na dog", "the cat", return_tensors="pt")).logits[0]
    found = DialogueModel(model=str(folder)).score([Sample("the cat", source="the man\na dog")]).values[0]
    assert found == pytest.approx(float(logits.softmax(-1)[0]), abs=1e-5)


def test_dialogue_model_reads_classifiers(nli: Path) -> None:
    found = DialogueModel(model=str(nli)).score([Sample("the cat", source="the man")]).values[0]
    assert found == pytest.approx(entails(nli, "the man", "the cat"), abs=1e-5)


def test_sentences() -> None:
    assert split_sentences("One. Two!\nthree\n\n") == ("One.", "Two!", "three")
    assert split_sentences("") == ()
