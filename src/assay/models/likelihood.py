"""Log-probabilities of ids under causal, masked and sequence-to-sequence models.

Texts that share a beginning share its computation: a causal model reads a tree of all texts at once, each
token attending to its own ancestors. That is exact, and perturbed versions of one text often begin alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import MetricError
from assay.models.lazy import torch
from assay.models.torch import COUNTER, Loaded, Overlong, in_batches, padded, within

LogProbs = NDArray[np.float64]
TokenRow = tuple[tuple[int, ...], tuple[int, ...]]  # ids given, ids scored
Tables = Callable[[Sequence[TokenRow]], Iterable["torch.Tensor"]]
_START = "<|endoftext|>"  # stands before a text in training; smollm2's bos opens a chat turn instead
_TREE_NODES = 512  # tokens per tree: the cost of attention grows with the square
_LOGSUM_ROWS = 32  # rows of logits that fit a processor's cache while they are summed up
_LOGIT_TOKENS = 1024  # rows of logits held at once, each as wide as the vocabulary
# Models that take any 4D mask and explicit positions; others are read in padded batches.
_TREE_MODELS = ("llama", "gpt2", "gpt_neox", "qwen2", "gptj")


@lru_cache(maxsize=4)
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


def causal(loaded: Loaded, rows: Sequence[TokenRow]) -> list[LogProbs]:
    """Return log p of each scored token after what precedes it; the ids given must not be empty."""
    by_tree = loaded.model.config.model_type in _TREE_MODELS
    return _for_distinct(rows, partial(_by_tree if by_tree else _in_padded_batches, loaded))


def _for_distinct(
    rows: Sequence[TokenRow], compute: Callable[[list[TokenRow]], list[LogProbs]]
) -> list[LogProbs]:
    distinct = list(dict.fromkeys(rows))
    known = dict(zip(distinct, compute(distinct), strict=True))
    return [known[row] for row in rows]


def trees(sequences: Sequence[Sequence[int]], most: int = _TREE_NODES) -> list[Tree]:
    """Pack sequences into trees of at most `most` tokens, sorted, so that equal beginnings meet."""
    packed: list[Tree] = [Tree()]
    before: Sequence[int] = ()
    path: list[int] = []
    for number in sorted(range(len(sequences)), key=lambda index: tuple(sequences[index])):
        sequence, tree = sequences[number], packed[-1]
        equal = takewhile(lambda pair: pair[0] == pair[1], zip(before, sequence, strict=False))
        shared = len(list(equal))
        if tree.tokens and len(tree.tokens) + len(sequence) - shared > most:
            tree, shared = Tree(), 0
            packed.append(tree)
        path = path[:shared]
        for token in sequence[shared:]:
            tree.parents.append(path[-1] if path else -1)
            tree.depths.append(len(path))
            tree.tokens.append(token)
            path.append(len(tree.tokens) - 1)
        tree.paths[number] = path
        before = sequence
    return packed


def _by_tree(loaded: Loaded, rows: Sequence[TokenRow]) -> list[LogProbs]:
    # The last token is only predicted, never read.
    packed = trees([(*given, *scored)[:-1] for given, scored in rows])
    answers = in_batches(
        [len(tree.tokens) for tree in packed],
        lambda batch: [_tree_forward(loaded, packed[index], rows) for index in batch],
        1,
    )
    logs = {number: values for answer in answers for number, values in answer.items()}
    return [logs[index] for index in range(len(rows))]


def _tree_forward(loaded: Loaded, tree: Tree, rows: Sequence[TokenRow]) -> dict[int, LogProbs]:
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
    rest = torch.cat([part.float().logsumexp(dim=-1) for part in logits.split(_LOGSUM_ROWS)])
    logs = {}
    for number, path in tree.paths.items():
        given, scored = rows[number]
        nodes = torch.tensor(path[len(given) - 1 :], dtype=torch.long, device=loaded.device)
        wanted = torch.tensor(scored, dtype=torch.long, device=loaded.device)
        logs[number] = (logits[nodes, wanted].float() - rest[nodes]).double().cpu().numpy()
    return logs


def _in_padded_batches(loaded: Loaded, rows: Sequence[TokenRow]) -> list[LogProbs]:
    def tables(some: Sequence[TokenRow]) -> list[torch.Tensor]:
        whole = [(*given, *scored)[:-1] for given, scored in some]
        ids, mask = padded(whole, loaded.pad, loaded.device)
        COUNTER.forward_tokens += sum(map(len, whole))
        logits = loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        return [table[len(given) - 1 :] for table, (given, _) in zip(logits, some, strict=True)]

    return _by_tables(rows, tables)


def _by_tables(rows: Sequence[TokenRow], tables: Tables) -> list[LogProbs]:
    """Run `tables` on batches of rows; it returns each row's logits from its first scored id on."""

    def forward(batch: list[int]) -> list[LogProbs]:
        some = [rows[index] for index in batch]
        return [_log_softmax_at(table, scored) for table, (_, scored) in zip(tables(some), some, strict=True)]

    return in_batches([len(given) + len(scored) for given, scored in rows], forward, _LOGIT_TOKENS)


def _log_softmax_at(logits: torch.Tensor, wanted: Sequence[int]) -> LogProbs:
    """Return the log softmax of the first rows of logits, each at its wanted id."""
    table = logits[: len(wanted)].float()
    index = torch.tensor(wanted, dtype=torch.long, device=table.device)
    chosen = table.gather(1, index[:, None])[:, 0] - table.logsumexp(dim=-1)
    return np.asarray(chosen.double().cpu().numpy())


def masked(loaded: Loaded, sequences: Sequence[Sequence[int]]) -> list[LogProbs]:
    """Return log p of each token of framed sequences, masked one at a time."""
    before, mask_id = len(loaded.framing.prefix), loaded.tokenizer.mask_token_id
    jobs = [(ids, place) for ids in sequences for place in range(len(ids))]

    def forward(batch: list[int]) -> list[float]:
        some = [jobs[index] for index in batch]
        rows = [loaded.framed([*ids[:place], mask_id, *ids[place + 1 :]]) for ids, place in some]
        ids, mask = padded(rows, loaded.pad, loaded.device)
        logits = loaded.model(input_ids=ids, attention_mask=mask).logits
        tables = logits[list(range(len(rows))), [before + place for _, place in some]]
        return list(_log_softmax_at(tables, [ids[place] for ids, place in some]))

    values = iter(in_batches([len(ids) + loaded.framing.size for ids, _ in jobs], forward, _LOGIT_TOKENS))
    return [np.fromiter(islice(values, len(ids)), np.float64) for ids in sequences]


def translated(loaded: Loaded, rows: Sequence[TokenRow]) -> list[LogProbs]:
    """Return log p of each target id given the source ids, by forced decoding."""

    def tables(some: Sequence[TokenRow]) -> Any:
        ids, mask = padded([given for given, _ in some], loaded.pad, loaded.device)
        labels, _ = padded([scored for _, scored in some], loaded.pad, loaded.device)
        return loaded.model(input_ids=ids, attention_mask=mask, labels=labels).logits

    return _for_distinct(rows, lambda distinct: _by_tables(distinct, tables))


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
