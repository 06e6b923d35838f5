"""Softmax over many classes, few of them frequent; mirrors ``torch.nn.modules.adaptive``."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..._methods.functions import cat
from ..._tensor import Tensor
from .. import functional as F
from ..module import Module
from .container import ModuleList, Sequential
from .linear import Linear

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log likelihood of classes that are sorted by frequency (``torch.nn.AdaptiveLogSoftmaxWithLoss``): a head
    decides between the first ``cutoffs[0]`` classes and clusters of rarer ones, for which narrower tails decide. Raises
    ValueError unless ``cutoffs`` are increasing integers between 1 and n_classes - 1.
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (any(int(cut) != cut for cut in cutoffs)
                or any(high <= low for low, high in pairwise([0, *cutoffs, n_classes]))):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                             "where each value is between 1 and n_classes-1")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(pairwise(self.cutoffs), 1):
            width = int(in_features // div_value**number)
            self.tail.append(Sequential(Linear(in_features, width, False, device, dtype),
                                        Linear(width, high - low, False, device, dtype)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for narrow, wide in map(list, self.tail):
            narrow.reset_parameters()
            wide.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return the targets' log likelihood (N,) for inputs (N, in_features), and the mean loss; N may be missing.
        Raises RuntimeError if the shapes do not fit, or a target is not a class.
        """
        if target_.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target_.dim() == 1 and input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found "
                               f"inputs with size {input_.size()}")
        single = target_.dim() == 0
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if target.numel() and not 0 <= target.min().item() <= target.max().item() < self.n_classes:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{target.min().item()}, {target.max().item()}] were found. ")
        output, chosen = input.new_zeros(target.size(0)), target.clone()
        for number, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                logs = F.log_softmax(self.tail[number](input.index_select(0, rows)), dim=1)
                own = target.index_select(0, rows) - low
                output = output.index_copy(0, rows, logs.gather(1, own.unsqueeze(1)).squeeze(1))
                chosen.index_fill_(0, rows, self.shortlist_size + number)
        logs = F.log_softmax(self.head(input), dim=1)
        output = output + logs.gather(1, chosen.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities (N, n_classes) of all classes, for inputs (N, in_features)."""
        head = F.log_softmax(self.head(input), dim=1)
        tails = [F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + number].unsqueeze(1)
                 for number, tail in enumerate(self.tail)]
        return cat([head[:, :self.shortlist_size], *tails], 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row (N,); tails are computed only where the head chooses a cluster."""
        output = self.head(input).argmax(1)
        rare = output >= self.shortlist_size
        if rare.any():
            output[rare] = self.log_prob(input[rare]).argmax(1)
        return output
