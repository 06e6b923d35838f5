"""Silent mistakes in how gradients get from losses to steps: mixed, not divided, along the wrong direction."""
from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from ..libraries import library_of
from ..why.explanation import Call
from ..why.wrote import is_tensor
from .chains import no_gradient_of_samples
from .watching import Marks, Pass, Ran, Watcher, shape_of, told, values_of

#: Roots of losses that are a mean over samples, as a loss function returns it.
MEANS = ("NllLoss", "NllLoss2D", "MseLoss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy",
         "BinaryCrossEntropyWithLogits", "SoftMarginLoss", "Mean")
ERRORS = (*MEANS[:-1], "Pow", "Abs", "Square")
PASSING = ("Mean", "Sum", "Div", "Mul", "Sqrt", "View", "Squeeze", "Unsqueeze", "Alias", "ToCopy")
LIKELIHOODS = ("LogSoftmax", "Logsumexp")


class Part(NamedTuple):
    """A backward pass's share of a gradient: the pass, how many steps and calls came before, its root, its line."""

    number: int
    steps: int
    calls: int
    root: str
    place: Call


class Mixed(Watcher):
    """Gradients in which several backward passes met."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.parts: dict[int, tuple[weakref.ref[Any], list[Part]]] = {}
        self.steps = self.calls = 0
        self.divided = False

    def call(self, module: Any, args: Any, kwargs: Any, recorded: bool) -> None:
        self.calls += recorded

    def operator(self, ran: Ran) -> None:
        if ran.packet in ("div_", "_foreach_div_") or (ran.packet in ("mul_", "_foreach_mul_") and
                                                       "clip" not in ran.place.text):
            self.divided = self.divided or self._is_gradient(ran.args[0])

    def _is_gradient(self, value: Any) -> bool:
        first = value[0] if isinstance(value, (list, tuple)) and value else value
        address = library_of(first).address(first) if is_tensor(first) else 0
        grads = (library_of(p).grad(p) for ref, _ in self.parts.values() if (p := ref()) is not None)
        return bool(address) and any(grad is not None and library_of(grad).address(grad) == address for grad in grads)

    def backward(self, run: Pass) -> None:
        look = run.library.node(run.roots[0]) if run.roots else None
        name = "" if look is None else _operator(look.name)
        summed = look is not None and any(kept.name == "reduction" and kept.text == "2" for kept in look.kept or ())
        for leaf in run.leaves:
            ref, parts = self.parts.get(id(leaf), (None, []))
            grad = run.library.grad(leaf)
            if ref is None or ref() is not leaf or grad is None or not np.any(values_of(grad)):
                parts = []
            parts.append(Part(run.number, self.steps, self.calls, "" if summed else name, run.place))
            self.parts[id(leaf)] = weakref.ref(leaf), parts

    def before_step(self, optimizer: Any) -> None:
        divided, self.divided = self.divided, False
        for parameter in (p for group in optimizer.param_groups for p in group["params"]):
            ref, parts = self.parts.pop(id(parameter), (None, []))
            if ref is None or ref() is not parameter or len(parts) < 2 or library_of(parameter).grad(parameter) is None:
                continue
            first, last = parts[-2], parts[-1]
            if any(part.steps < self.steps for part in parts[:-1]):
                self._two_losses(parts[0], last)
            elif first.place == last.place and first.root in MEANS and last.root in MEANS and not divided and (
                    first.calls < last.calls):
                self._not_divided(len(parts), last)

    def after_step(self, optimizer: Any) -> None:
        self.steps += 1

    def _two_losses(self, first: Part, last: Part) -> None:
        self.record.found(told(
            "losses mixed", "the step takes gradients of two losses: of another model's, and of its own",
            f"The backward pass of line {first.place.line} also left gradients here, and another optimizer took its "
            f"step with that loss. Nothing cleared them before the pass of line {last.place.line} added its own.",
            last.place, [("cut the graph where the other model's data begins", "discriminator(fake.detach())"),
                         ("and clear the gradients before each backward", "optimizer.zero_grad(); loss.backward()")],
            [("backward", f"line {first.place.line}", ""), ("step", "of the other optimizer", ""),
             ("backward", f"line {last.place.line}, on top", "-"), ("step", "takes the sum", "-")]))

    def _not_divided(self, count: int, last: Part) -> None:
        self.record.found(told(
            "accumulated", f"gradients of {count} batches are added up, and not divided by {count}",
            f"Each loss is a mean over its batch, and backward adds. The step goes along {count} times the mean "
            f"gradient: as with a learning rate {count} times as large.",
            last.place, [("divide each loss", f"(loss / {count}).backward()")],
            [("backward", "mean of batch 1", "+"), ("backward", f"+ … + mean of batch {count}", "-"),
             ("step", f"{count} times as long", "-")]))


class Upward(Watcher):
    """Steps along which the loss rises."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.leaves: dict[int, weakref.ref[Any]] = {}  # by the address of their memory
        self.moves: dict[int, list[Any]] = {}  # of a leaf: how often up and down, and the line
        self.results: dict[int, tuple[bool, Call, bool]] = {}  # of sums that may become a leaf's data, by address
        self.error = self.negative = self.likelihood = False
        self.stepping = False
        self.place: Call | None = None

    def backward(self, run: Pass) -> None:
        for leaf in run.leaves:
            address = run.library.address(leaf)
            self.leaves[address] = weakref.ref(leaf)
            if address in self.results:  # w.data = w.data + lr * w.grad
                self._moved(leaf, *self.results[address])
        self.results.clear()
        self.place = run.place
        chain = list(_chain(run))
        self.negative = chain[:1] == ["Neg"] and any(name in ERRORS for name in chain[1:2])
        self.error = next((name for name in chain if name not in PASSING), "") in ERRORS
        below = [name for name in chain if name not in (*PASSING, "Index", "Gather", "Sum", "Select")]
        self.likelihood = bool(below) and below[0] in LIKELIHOODS and chain[0] in ("Mean", "Sum") and any(
            name in ("Index", "Gather") for name in chain) and "Mul" not in chain[:2]

    def before_step(self, optimizer: Any) -> None:
        self.stepping = True
        group = optimizer.param_groups[0]
        rate, theirs = group.get("lr"), {id(p) for p in group["params"]}
        if isinstance(rate, (int, float)) and rate < 0:
            self.record.found(told(
                "negative learning rate", f"the learning rate is negative: {rate:.3g}",
                "A step then goes up the slope. A scheduler lowered the rate below zero, beyond its end.",
                self.record.here(), [("stop at zero", "LambdaLR(optimizer, lambda e: max(0.0, 1 - e / epochs))")],
                [("lr", "falls", ""), ("lr", f"{rate:.3g}", "-"), ("step", "the loss rises", "-")]))
        if not theirs & self.record.parameter_ids() or len(self.record.optimizers) > 1:
            return
        why = ("the loss stands under a minus" if self.negative else "the optimizer has maximize=True"
               if group.get("maximize") and self.error else
               "it is a likelihood without a minus" if self.likelihood and not group.get("maximize") else "")
        if why:
            self._up(why, self.place, "F.cross_entropy(output, target).backward()" if not self.likelihood else
                     "loss = -logp.mean()")

    def after_step(self, optimizer: Any) -> None:
        self.stepping = False

    def operator(self, ran: Ran) -> None:
        changes = ran.packet in ("add_", "sub_", "add", "sub") and len(ran.args) > 1 and is_tensor(ran.args[0])
        if not changes or self.stepping or not self.leaves:
            return
        ref = self.leaves.get(ran.library.address(ran.args[0]))
        leaf = None if ref is None else ref()
        if leaf is None or shape_of(leaf) != shape_of(ran.args[0]):
            return
        change, grad = values_of(ran.args[1]), ran.library.grad(leaf)
        slope = None if grad is None else values_of(grad)
        if change is None or slope is None or change.shape != slope.shape:
            return
        size = float(np.linalg.norm(change) * np.linalg.norm(slope))
        alpha = next((a for a in ran.args[2:] if isinstance(a, (int, float))), 1)
        along = float((change * slope).sum()) * alpha * (1 if ran.packet.startswith("add") else -1)
        if not abs(along) > 0.9 * abs(alpha) * size > 0:
            return
        if ran.packet.endswith("_"):
            self._moved(leaf, along > 0, ran.place, self.error)
        else:
            self.results[ran.library.address(ran.result)] = along > 0, ran.place, self.error

    def _moved(self, leaf: Any, up: bool, place: Call, error: bool) -> None:
        moves = self.moves.setdefault(id(leaf), [0, 0, place, error])
        moves[0 if up else 1] += 1

    def finish(self) -> None:
        owned = self.record.parameter_ids()
        for key, (up, down, place, error) in self.moves.items():
            if up and not down and error and (key in owned or not owned):
                self._up("the gradient is added", place, "p -= lr * p.grad")
                return

    def _up(self, why: str, place: Call | None, right: str) -> None:
        self.record.found(told(
            "ascent", f"the steps go up the slope: {why}",
            "The gradient points to where the loss rises fastest. The loss grows from step to step, since the "
            "parameters go along it and not against it.",
            place, [("go down", right)],
            [("gradient", "where the loss rises", "+"), ("step", "along it", "-"), ("loss", "rises", "-")]))


class Renewed(Watcher):
    """Optimizers that are made for each batch."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.known: dict[int, list[weakref.ref[Any]]] = {}
        self.count: dict[int, int] = {}

    def before_step(self, optimizer: Any) -> None:
        group = optimizer.param_groups[0]
        if not group["params"] or not ("betas" in group or group.get("momentum")):
            return
        key = id(group["params"][0])
        refs = self.known.setdefault(key, [])
        if any(ref() is optimizer for ref in refs):
            return
        refs.append(weakref.ref(optimizer))
        self.count[key] = self.count.get(key, 0) + 1
        if self.count[key] == 3 and self.record.steps <= 4:
            kind = type(optimizer).__name__
            self.record.found(told(
                "optimizer made anew", f"{kind} is made anew for each step",
                "It keeps averages of the gradients of all steps so far. Made anew, it begins without them: momentum "
                "and the scale of each parameter are lost every time.",
                self.record.here(), [("make it once, before the loop",
                                      f"optimizer = optim.{kind}(model.parameters(), lr=0.001)")],
                [(kind, "step 1", ""), (f"another {kind}", "knows nothing of it", "-"),
                 (f"another {kind}", "again", "-")]))


class Sampled(Watcher):
    """Samples that a distribution drew without a graph, and that a layer computes with."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.samples = Marks()

    def operator(self, ran: Ran) -> None:
        if ran.packet == "normal" and is_tensor(ran.result) and not ran.library.is_grad_enabled():
            bases = [base for given in ran.args if is_tensor(given)
                     and is_tensor(base := ran.library.record(given, 0).base)]
            if any(base.requires_grad for base in bases):
                self.samples.put(ran.result, ran.place)

    def call(self, module: Any, args: Any, kwargs: Any, recorded: bool) -> None:
        place = self.samples.get(args[0]) if recorded and args and is_tensor(args[0]) else None
        if place is not None and next(iter(module.parameters()), None) is not None:
            self.record.later(no_gradient_of_samples("sample()", place))


class Terms(Watcher):
    """Terms of a loss that have no gradient although they were computed from parameters."""

    def __init__(self, record: Any):
        super().__init__(record)
        self.cut = Marks()
        self.leaves: dict[int, weakref.ref[Any]] = {}

    def gradient(self, result: Any) -> None:
        """Receive what an operator of a backward pass returned."""
        for value in result if isinstance(result, (list, tuple)) else (result,):
            if is_tensor(value) and value.numel() > 1:
                self.cut.put(value, "the result of autograd.grad without create_graph=True")

    def call(self, module: Any, args: Any, kwargs: Any, recorded: bool) -> None:
        if recorded and len(self.leaves) < 10_000:
            self.leaves.update((library_of(p).address(p), weakref.ref(p)) for p in module._parameters.values()
                               if p is not None and p.requires_grad)

    def operator(self, ran: Ran) -> None:
        tensors = [value for value in ran.args if is_tensor(value)]
        if not tensors or not ran.library.is_grad_enabled():
            return
        if ran.packet in ("add", "sub", "add_") and len(tensors) == 2 and all(shape_of(t) == () for t in tensors):
            notes = [self.cut.get(t) for t in tensors if not t.requires_grad]
            if any(t.requires_grad for t in tensors) and notes and notes[0]:
                self.record.later(told(
                    "term without gradient", "a term of the loss has no gradient, and changes nothing",
                    f"It was computed from {notes[0]}. As a number it is added to the loss; no gradient leads from it "
                    "to the parameters.",
                    ran.place, [("of parameters, leave out .data and detach", "sum(p.pow(2).sum() for p in "
                                 "model.parameters())"),
                                ("of gradients, record them", "torch.autograd.grad(out, x, create_graph=True)")],
                    [("loss", "has a graph", "+"), ("term", "is a number", "-"), ("sum", "its graph alone", "")]))
                return
        if any(t.requires_grad for t in tensors) or not is_tensor(ran.result) or ran.packet.endswith("_"):
            return
        note = next(filter(None, map(self.cut.get, tensors)), None)
        if note is None and ran.packet not in ("detach", "clone", "alias") and any(
                (ref := self.leaves.get(ran.library.address(t))) is not None and ref() is not None
                and shape_of(ref()) == shape_of(t) for t in tensors):
            note = "the data of parameters, outside of their graph"
        if note is not None and ran.packet not in ("detach", "clone", "eq", "ne", "gt", "lt", "sign"):
            self.cut.put(ran.result, note)


def _operator(name: str) -> str:
    return name.partition("Backward")[0].rpartition("::")[2]


def _chain(run: Pass) -> Any:
    """Yield the operators from the root on, along first inputs that need a gradient."""
    node = run.roots[0] if run.roots else None
    for _ in range(12):
        if node is None:
            return
        look = run.library.node(node)
        yield _operator(look.name)
        edges = [edge for edge in look.edges if edge is not None]
        node = edges[0][0] if edges else None
