"""A note on perturbations that were not applied because texts are in another language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from assay.core import Perturbation, Record
from assay.language import language_name


def language_notes(
    dataset: str, records: Sequence[Record], perturbations: Iterable[Perturbation], what: str = "noises"
) -> list[str]:
    """One note per dataset with texts that some of the perturbations do not understand."""
    edits = {edit.name: edit for edit in perturbations}
    refused = [edit for edit in edits.values() if not all(map(edit.understands, records))]
    if not refused:
        return []
    needed = sorted({language_name(code) for edit in refused for code in edit.languages or ()})
    (code, count), *_ = Counter(r.language for r in records if not refused[0].understands(r)).most_common(1)
    texts = "the texts" if count == len(records) else f"{count} of {len(records)} texts"
    number = refused[0].name if len(refused) == 1 else f"{len(refused)} {what}"
    need = "needs" if len(refused) == 1 else "need"
    return [
        f"{number} {need} {' or '.join(needed)}; {texts} of {dataset} look {language_name(code)}: not applied"
    ]
