"""Ids to log-probabilities under causal, masked and sequence-to-sequence models.

Texts that share a beginning share its computation: a causal model reads a tree of all texts at once, each
token attending to its own ancestors. That is exact, and perturbed versions of one text begin alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.models.torch import Loaded, Overlong, in_batches, padded, within

LogProbs = NDArray[np.float64]
Row = tuple[tuple[int, ...], tuple[int, ...]]  # what is given, what is scored
_TREE_NODES = 512  # tokens of a tree: attention grows with the square
_LOGIT_TOKENS = 1024  # rows of logits held at once, each as wide as the vocabulary
# Models that take any 4D mask and explicit positions; others are read in padded batches.
_TREE_MODELS = ("llama", "gpt2", "gpt_neox", "qwen2", "gptj")


@dataclass(slots=True)
class Counter:
    """Tokens sent through models, for the benchmarks."""

    forward_tokens: int = 0


COUNTER = Counter()


@dataclass(slots=True)
class Tree:
    """Distinct beginnings of some sequences: a token, its parent and its depth a node."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    paths: dict[int, list[int]] = field(default_factory=dict)  # sequence -> its nodes

    def add(self, number: int, sequence: Sequence[int], before: Sequence[int], shared: int) -> None:
        """Hang a sequence in whose first `shared` tokens lie on the path `before`."""
        path = list(before[:shared])
        for token in sequence[shared:]:
            self.parents.append(path[-1] if path else -1)
            self.depths.append(len(path))
            self.tokens.append(token)
            path.append(len(self.tokens) - 1)
        self.paths[number] = path


def causal(loaded: Loaded, rows: Sequence[Row]) -> list[LogProbs]:
    """log p of each scored token, given what stands before it; what is given must not be empty."""
    distinct = list(dict.fromkeys(rows))
    if loaded.model.config.model_type in _TREE_MODELS:
        found = _by_tree(loaded, distinct)
    else:
        sizes = [len(given) + len(scored) for given, scored in distinct]
        found = in_batches(
            sizes, lambda batch: _causal_batch(loaded, [distinct[i] for i in batch]), _LOGIT_TOKENS
        )
    known = dict(zip(distinct, found, strict=True))
    return [known[row] for row in rows]


def trees(sequences: Sequence[Sequence[int]], most: int = _TREE_NODES) -> list[Tree]:
    """Sequences in alphabetical order, so that common beginnings meet, packed into trees of `most` tokens."""
    made: list[Tree] = [Tree()]
    before: Sequence[int] = ()
    for number in sorted(range(len(sequences)), key=lambda index: tuple(sequences[index])):
        sequence, tree = sequences[number], made[-1]
        shared = _common(before, sequence)
        if tree.tokens and len(tree.tokens) + len(sequence) - shared > most:
            tree, before, shared = Tree(), (), 0
            made.append(tree)
        tree.add(number, sequence, list(tree.paths.values())[-1] if tree.paths else [], shared)
        before = sequence
    return made


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length


def _by_tree(loaded: Loaded, rows: Sequence[Row]) -> list[LogProbs]:
    # The last token is only predicted, never read.
    made = trees([(*given, *scored)[:-1] for given, scored in rows])
    answers = in_batches(
        [len(tree.tokens) for tree in made],
        lambda batch: [_tree_forward(loaded, made[index], rows) for index in batch],
        1,
    )
    found: dict[int, LogProbs] = {}
    for answer in answers:
        found.update(answer)
    return [found[index] for index in range(len(rows))]


def _tree_forward(loaded: Loaded, tree: Tree, rows: Sequence[Row]) -> dict[int, LogProbs]:
    import torch

    size = len(tree.tokens)
    COUNTER.forward_tokens += size
    sees = np.zeros((size, size), dtype=np.bool_)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            sees[node] = sees[parent]
        sees[node, node] = True
    mask = torch.zeros(size, size).masked_fill_(~torch.from_numpy(sees), torch.finfo(torch.float32).min)
    logits = loaded.model(
        input_ids=torch.tensor([tree.tokens], device=loaded.device),
        attention_mask=mask[None, None].to(loaded.device, loaded.model.dtype),
        position_ids=torch.tensor([tree.depths], device=loaded.device),
        use_cache=False,
    ).logits[0]
    rest = logits.float().logsumexp(dim=-1)
    found = {}
    for number, path in tree.paths.items():
        given, scored = rows[number]
        nodes = torch.tensor(path[len(given) - 1 :], dtype=torch.long, device=loaded.device)
        wanted = torch.tensor(scored, dtype=torch.long, device=loaded.device)
        found[number] = (logits[nodes, wanted].float() - rest[nodes]).double().cpu().numpy()
    return found


def _causal_batch(loaded: Loaded, rows: Sequence[Row]) -> list[LogProbs]:
    ids, mask = padded([(*given, *scored)[:-1] for given, scored in rows], loaded.pad, loaded.device)
    COUNTER.forward_tokens += int(mask.sum())
    logits = loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
    found = []
    for index, (given, scored) in enumerate(rows):
        start = len(given) - 1
        found.append(_picked(logits[index, start : start + len(scored)], scored))
    return found


def _picked(logits: object, wanted: Sequence[int]) -> LogProbs:
    """log softmax at the wanted ids, one a row of logits."""
    import torch

    table = torch.as_tensor(logits).float()
    index = torch.tensor(wanted, dtype=torch.long, device=table.device)
    chosen = table.gather(1, index[:, None])[:, 0] - table.logsumexp(dim=-1)
    picked: LogProbs = chosen.double().cpu().numpy()
    return picked


def masked(loaded: Loaded, sequences: Sequence[Sequence[int]]) -> list[LogProbs]:
    """log p of each token of a sequence, masked one at a time, the sequence framed by specials."""
    before = len(loaded.framing.prefix)
    jobs = [(number, place) for number, ids in enumerate(sequences) for place in range(len(ids))]
    sizes = [len(sequences[number]) + loaded.framing.size for number, _ in jobs]

    def forward(batch: list[int]) -> list[float]:
        rows, places, wanted = [], [], []
        for number, place in (jobs[index] for index in batch):
            row = [*loaded.framing.prefix, *sequences[number], *loaded.framing.suffix]
            row[before + place] = loaded.tokenizer.mask_token_id
            rows.append(row)
            places.append(before + place)
            wanted.append(sequences[number][place])
        ids, mask = padded(rows, loaded.pad, loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask).logits
        return [float(v) for v in _picked(logits[list(range(len(rows))), places], wanted)]

    values = in_batches(sizes, forward, _LOGIT_TOKENS)
    found: list[list[float]] = [[] for _ in sequences]
    for (number, _), value in zip(jobs, values, strict=True):
        found[number].append(value)
    return [np.array(row) for row in found]


def translated(loaded: Loaded, rows: Sequence[Row]) -> list[LogProbs]:
    """log p of each target id under a sequence-to-sequence model, given the source ids (forced decoding)."""
    distinct = list(dict.fromkeys(rows))
    sizes = [len(given) + len(scored) for given, scored in distinct]

    def forward(batch: list[int]) -> list[LogProbs]:
        picked = [distinct[index] for index in batch]
        ids, mask = padded([given for given, _ in picked], loaded.pad, loaded.device)
        labels, _ = padded([scored for _, scored in picked], loaded.pad, loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask, labels=labels).logits
        return [_picked(logits[i, : len(scored)], scored) for i, (_, scored) in enumerate(picked)]

    known = dict(zip(distinct, in_batches(sizes, forward, _LOGIT_TOKENS), strict=True))
    return [known[row] for row in rows]


def pieces(
    loaded: Loaded, ids: list[int], room: int, overlong: Overlong, text: str
) -> tuple[list[tuple[list[int], list[int]]], int]:
    """A text as (context, scored) pieces that fit, and the ids cut; windows overlap by half as context."""
    if overlong != "window" or len(ids) <= room:
        kept, cut = within(loaded, ids, room, overlong, text)
        return [([], kept)], cut
    step = max(1, room // 2)
    found: list[tuple[list[int], list[int]]] = [([], ids[:room])]
    for start in range(room, len(ids), step):
        scored = ids[start : start + step]
        found.append((ids[start + len(scored) - room : start], scored))
    return found, 0
