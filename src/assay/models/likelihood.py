"""Log-probabilities of ids under causal, masked and sequence-to-sequence models.

Texts that share a beginning share its computation: a causal model reads a tree of all texts at once, each
token attending to its own ancestors. That is exact, and perturbed versions of one text often begin alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.errors import MetricError
from assay.models.torch import COUNTER, Loaded, Overlong, in_batches, padded, within

LogProbs = NDArray[np.float64]
Row = tuple[tuple[int, ...], tuple[int, ...]]  # ids given, ids scored
_START = "<|endoftext|>"  # stands before a text in training; smollm2's bos opens a chat turn instead
_TREE_NODES = 512  # tokens per tree: the cost of attention grows with the square
_LOGIT_TOKENS = 1024  # rows of logits held at once, each as wide as the vocabulary
# Models that take any 4D mask and explicit positions; others are read in padded batches.
_TREE_MODELS = ("llama", "gpt2", "gpt_neox", "qwen2", "gptj")


def start_id(loaded: Loaded) -> int:
    """Return the id that precedes a text: <|endoftext|> where the vocabulary has it, else bos, else eos."""
    tokenizer = loaded.tokenizer
    for token in (tokenizer.get_vocab().get(_START), tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    raise MetricError(f"the tokenizer in {loaded.path} has no start token; take another model")


@dataclass(slots=True)
class Tree:
    """Distinct beginnings of some sequences; each node has a token, a parent and a depth."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    paths: dict[int, list[int]] = field(default_factory=dict)  # sequence -> its nodes

    def add(self, number: int, sequence: Sequence[int], before: Sequence[int], shared: int) -> None:
        """Insert a sequence; its first `shared` tokens are already in the tree along `before`."""
        path = list(before[:shared])
        for token in sequence[shared:]:
            self.parents.append(path[-1] if path else -1)
            self.depths.append(len(path))
            self.tokens.append(token)
            path.append(len(self.tokens) - 1)
        self.paths[number] = path


def causal(loaded: Loaded, rows: Sequence[Row]) -> list[LogProbs]:
    """Return log p of each scored token after what precedes it; the ids given must not be empty."""
    distinct = list(dict.fromkeys(rows))
    if loaded.model.config.model_type in _TREE_MODELS:
        logs = _by_tree(loaded, distinct)
    else:
        sizes = [len(given) + len(scored) for given, scored in distinct]
        logs = in_batches(
            sizes, lambda batch: _causal_batch(loaded, [distinct[i] for i in batch]), _LOGIT_TOKENS
        )
    known = dict(zip(distinct, logs, strict=True))
    return [known[row] for row in rows]


def trees(sequences: Sequence[Sequence[int]], most: int = _TREE_NODES) -> list[Tree]:
    """Pack sequences into trees of at most `most` tokens, sorted, so that equal beginnings meet."""
    packed: list[Tree] = [Tree()]
    before: Sequence[int] = ()
    for number in sorted(range(len(sequences)), key=lambda index: tuple(sequences[index])):
        sequence, tree = sequences[number], packed[-1]
        shared = _common(before, sequence)
        if tree.tokens and len(tree.tokens) + len(sequence) - shared > most:
            tree, before, shared = Tree(), (), 0
            packed.append(tree)
        tree.add(number, sequence, list(tree.paths.values())[-1] if tree.paths else [], shared)
        before = sequence
    return packed


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    pairs = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _by_tree(loaded: Loaded, rows: Sequence[Row]) -> list[LogProbs]:
    # The last token is only predicted, never read.
    packed = trees([(*given, *scored)[:-1] for given, scored in rows])
    answers = in_batches(
        [len(tree.tokens) for tree in packed],
        lambda batch: [_tree_forward(loaded, packed[index], rows) for index in batch],
        1,
    )
    logs = {number: values for answer in answers for number, values in answer.items()}
    return [logs[index] for index in range(len(rows))]


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
    logs = {}
    for number, path in tree.paths.items():
        given, scored = rows[number]
        nodes = torch.tensor(path[len(given) - 1 :], dtype=torch.long, device=loaded.device)
        wanted = torch.tensor(scored, dtype=torch.long, device=loaded.device)
        logs[number] = (logits[nodes, wanted].float() - rest[nodes]).double().cpu().numpy()
    return logs


def _causal_batch(loaded: Loaded, rows: Sequence[Row]) -> list[LogProbs]:
    ids, mask = padded([(*given, *scored)[:-1] for given, scored in rows], loaded.pad, loaded.device)
    COUNTER.forward_tokens += int(mask.sum())
    logits = loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
    logs = []
    for index, (given, scored) in enumerate(rows):
        start = len(given) - 1
        logs.append(_log_softmax_at(logits[index, start : start + len(scored)], scored))
    return logs


def _log_softmax_at(logits: object, wanted: Sequence[int]) -> LogProbs:
    """Return the log softmax of each row of logits at its wanted id."""
    import torch

    table = torch.as_tensor(logits).float()
    index = torch.tensor(wanted, dtype=torch.long, device=table.device)
    chosen = table.gather(1, index[:, None])[:, 0] - table.logsumexp(dim=-1)
    logs: LogProbs = chosen.double().cpu().numpy()
    return logs


def masked(loaded: Loaded, sequences: Sequence[Sequence[int]]) -> list[LogProbs]:
    """Return log p of each token of framed sequences, masked one at a time."""
    before = len(loaded.framing.prefix)
    jobs = [(number, place) for number, ids in enumerate(sequences) for place in range(len(ids))]
    sizes = [len(sequences[number]) + loaded.framing.size for number, _ in jobs]

    def forward(batch: list[int]) -> list[float]:
        rows, places, wanted = [], [], []
        for number, place in (jobs[index] for index in batch):
            row = loaded.framed(sequences[number])
            row[before + place] = loaded.tokenizer.mask_token_id
            rows.append(row)
            places.append(before + place)
            wanted.append(sequences[number][place])
        ids, mask = padded(rows, loaded.pad, loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask).logits
        return [float(v) for v in _log_softmax_at(logits[list(range(len(rows))), places], wanted)]

    values = in_batches(sizes, forward, _LOGIT_TOKENS)
    logs: list[list[float]] = [[] for _ in sequences]
    for (number, _), value in zip(jobs, values, strict=True):
        logs[number].append(value)
    return [np.array(row) for row in logs]


def translated(loaded: Loaded, rows: Sequence[Row]) -> list[LogProbs]:
    """Return log p of each target id given the source ids, by forced decoding."""
    distinct = list(dict.fromkeys(rows))
    sizes = [len(given) + len(scored) for given, scored in distinct]

    def forward(batch: list[int]) -> list[LogProbs]:
        some = [distinct[index] for index in batch]
        ids, mask = padded([given for given, _ in some], loaded.pad, loaded.device)
        labels, _ = padded([scored for _, scored in some], loaded.pad, loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask, labels=labels).logits
        return [_log_softmax_at(logits[i, : len(scored)], scored) for i, (_, scored) in enumerate(some)]

    known = dict(zip(distinct, in_batches(sizes, forward, _LOGIT_TOKENS), strict=True))
    return [known[row] for row in rows]


def pieces(
    loaded: Loaded, ids: list[int], room: int, overlong: Overlong, text: str
) -> tuple[list[tuple[list[int], list[int]]], int]:
    """Return a text as (context, scored) pieces that fit, and the ids cut; half of a window is context."""
    if overlong != "window" or len(ids) <= room:
        content, cut = within(loaded, ids, room, overlong, text)
        return [([], content)], cut
    step = max(1, room // 2)
    windows: list[tuple[list[int], list[int]]] = [([], ids[:room])]
    for start in range(room, len(ids), step):
        scored = ids[start : start + step]
        windows.append((ids[start + len(scored) - room : start], scored))
    return windows, 0
