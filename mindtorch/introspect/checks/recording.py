"""Recording of a training cell, step by step, while it runs: operators, backward passes, calls of models, steps.

It subscribes to the dispatcher's observers and to the hooks that all modules and all optimizers have. It keeps the
leaves of graphs while it lasts, and nothing else of them.
"""
from __future__ import annotations

import math
import re
import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..._base.interrupts import contextmanager
from ..._dispatch.observers import DispatchEvent
from ..libraries import libraries, library_of
from ..library import BackwardPass, Library
from ..why.explanation import CLASH, GONE, GOOD, Fix, Group, Groups, ShapeRow, Shapes, Step, Steps, cells
from ..why.wrote import is_optimizer, is_tensor
from .attention import Padding, Weights
from .blocks import Attributes, Copies, Linear
from .chains import findings as of_chains
from .finding import Finding, called_at, line_of
from .flow import Mixed, Renewed, Sampled, Terms, Upward
from .graph import Graph, findings as of_graph, under
from .kept import Aliases, Graphs
from .layout import Broadcast, OneSample, Reshaped, Rows
from .paired import Taught, Tied
from .probes import Probes
from .schedules import Schedules
from .state import MOODY
from .targets import Targets
from .watching import Pass, Ran, Watcher

WALKING = 3.0  #: seconds at most for the ways from losses to parameters
#: Functions whose arguments are looked at, by the operator that they are in mindtorch.
FUNCTIONS = {"cross_entropy_loss": "cross_entropy", "nll_loss_nd": "nll_loss", **{name: name for name in (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "soft_margin_loss", "hinge_embedding_loss", "margin_ranking_loss",
    "cosine_embedding_loss", "scaled_dot_product_attention")}}
GRAPHS = 3  #: backward passes whose graphs are looked at, besides those of models that come later
#: Operators that compare scores with class numbers, their second argument.
CLASSIFYING = ("cross_entropy_loss", "nll_loss_nd", "nll_loss", "nll_loss_forward")
#: Operators of a first layer, and which of their arguments its input is.
LAYERS = {"linear": 0, "conv2d": 0, "conv1d": 0, "convolution": 0, "mm": 0, "addmm": 1}
LARGE = 50.0  #: of the mean size of numbers that come into a layer
#: Where an operator makes NaN or infinity of numbers: why, and what helps.
MADE_NAN = {
    "log": ("the logarithm of 0 is minus infinity, that of a negative number is NaN", "(x + 1e-8).log()"),
    "sqrt": ("the square root of a negative number is NaN", "x.clamp(min=0).sqrt()"),
    "div": ("a division by 0 is infinity, and 0 / 0 is NaN", "a / (b + 1e-8)"),
    "exp": ("exp of more than 88 is beyond float32", "x.clamp(max=80).exp()"),
    "pow": ("a power was too large, or of a negative number", "x.clamp(min=0) ** p"),
    "std": ("the deviation of a single number divides by 0", "x.std(unbiased=False)"),
    "var": ("the variance of a single number divides by 0", "x.var(unbiased=False)"),
    "mean": ("the mean of nothing is 0 / 0", "if x.numel(): x.mean()"),
    "softmax": ("a row of minus infinity alone has nothing to choose from", "mask with a large negative number: -1e9"),
}


class Recording:
    """Events of a cell, as far as they show mistakes."""

    def __init__(self, namespace: Mapping[str, Any]):
        self.namespace = namespace
        self.findings: list[Finding] = []
        self.models: weakref.WeakKeyDictionary[Any, None] = weakref.WeakKeyDictionary()  # in the order of their calls
        self.optimizers: weakref.WeakKeyDictionary[Any, None] = weakref.WeakKeyDictionary()
        self.losses = self.steps = self.passes = 0
        self.leaves: dict[int, Any] = {}
        self.files: set[str] = set()  #: of the lines that ran operators
        self._task: Any = None
        self._zeroed = False  # whether something was filled with zeros since the last backward pass
        self._since_step = 0  # backward passes since the last step
        #: Parameters whose gradient a step has used, with its identity; of those, to which backward has added since,
        #: the line that did.
        self._used: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._added: dict[int, Any] = {}
        self._classes: list[frozenset[Any]] = []  # in the targets of each batch
        self._modes: list[tuple[str, bool]] = []  # of the modules called since the last backward
        #: Modules of a kind that were called at a line: reference, calls, what they are made of.
        self._called: dict[Any, list[list[Any]]] = {}
        self._is_new = False  # whether a model was called that no pass has gone through yet
        self._sequences: list[tuple[str, tuple[int, ...]]] = []  # read with the steps first, since the last backward
        self._infinite: Finding | None = None  # what made the first infinity, which may be meant
        self._candidates: list[Finding] = []  # which count if there was a backward pass
        self._walked = 0.0  # seconds
        self.sizes: list[int] = []  #: of the graphs of backward passes, in nodes
        self.stepped: dict[int, int] = {}  #: the last step that changed a parameter, by its address
        padding, self.terms, self.probes = Padding(self), Terms(self), Probes(self)
        self.watchers: tuple[Watcher, ...] = (
            Reshaped(self), Broadcast(self), Rows(self), OneSample(self), Targets(self), padding,
            Weights(self, padding), Mixed(self), Upward(self), Renewed(self), Sampled(self), self.terms,
            Schedules(self), Graphs(self), Aliases(self), Linear(self), Copies(self), Attributes(self),
            Tied(self), Taught(self), self.probes)

    def found(self, finding: Finding) -> None:
        """Note a finding, once for each kind and line."""
        key = finding.kind, finding.place.line if finding.place else None
        if key not in {(known.kind, known.place.line if known.place else None) for known in self.findings}:
            self.findings.append(finding)

    def later(self, finding: Finding) -> None:
        """Note a finding that counts only where something is trained."""
        self._candidates.append(finding)

    def parameter_ids(self) -> set[int]:
        """Return the identities of the parameters of models that were called."""
        return {id(parameter) for parameter in self._parameters()}

    # -- what is told ------------------------------------------------------------------------------------------------

    def operator(self, library: Library, event: DispatchEvent, args: tuple[Any, ...], result: Any) -> None:
        """Note that an operator ran."""
        self.files.add(event.site[0])
        task = library.backward_pass()
        if task is not None and (library, task.number) != self._task:
            self._task = library, task.number
            self._begin_backward(library, event, task)
        if event.error:
            return
        if event.depth == 0:
            self._first_nan(event, args, result, task)
        packet = event.op.partition(".")[0]
        if task is None and packet in CLASSIFYING and len(args) > 1 and event.depth == 0:
            self._targets(args[1])
        if task is None and packet in LAYERS and event.depth == 0:
            self._scale(event, args[LAYERS[packet]])
        self._zeroed = self._zeroed or packet in ("zero_", "_foreach_zero_")
        if task is None and packet in ("eq", "ne") and len(args) > 1:
            self._compared(event, args[0], args[1])
        if not library.is_grad_enabled() and library.drops(packet, args):
            self._dropped(event)
        if task is not None:
            self.terms.gradient(result)
            return
        ran = Ran(library, packet, args, result, event)
        for watcher in self.watchers:
            watcher.operator(ran)
        given = library.given(event, args) if packet in FUNCTIONS and event.depth == 0 else None
        if given is not None:
            self.function(FUNCTIONS[packet], given, event.site)

    def function(self, name: str, given: Mapping[str, Any], site: tuple[str, int, str]) -> None:
        """Note a call of a loss function, or of attention."""
        place = line_of(*site)
        for watcher in self.watchers:
            watcher.function(name, given, place)

    def call(self, library: Library, module: Any, args: Any, kwargs: Mapping[str, Any]) -> None:
        """Note a module's call."""
        recorded = library.is_grad_enabled()
        for watcher in self.watchers:
            watcher.call(module, args, kwargs, recorded)
        if next(iter(module.parameters()), None) is not None:
            if module not in self.models:
                self.models[module], self._is_new = None, True
            if recorded and module._parameters:
                self._made_anew(module)
        if recorded and getattr(module, "batch_first", True) is False and args and is_tensor(args[0]) and len(
                args[0].shape) == 3 and hasattr(module, "hidden_size"):
            self._sequences.append((type(module).__name__, tuple(args[0].shape)))
        if recorded:
            self._modes.append((type(module).__name__, module.training))
        if recorded or not module.training or type(module).__name__ not in MOODY:
            return
        self.found(Finding(
            "training while predicting", f"a {type(module).__name__} is in training mode where nothing is learnt",
            "The model is called under no_grad, so it predicts; but dropout still drops at random, and batch "
            "normalisation takes and remembers statistics of the data that it is tested on.",
            (Fix("before predicting", "model.eval()"), Fix("and before training goes on", "model.train()")),
            (Steps((Step("no_grad", "predicting", GOOD), Step(type(module).__name__, "as if training", CLASH))),)))

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Note that an optimizer is about to take a step."""
        self.optimizers.setdefault(optimizer)
        for watcher in self.watchers:
            watcher.before_step(optimizer)
        if any(map(callable, (*args, *kwargs.values()))):  # a closure, which computes the gradients within the step
            self.steps += 1
            return
        grads = [(p, library_of(p).grad(p)) for group in optimizer.param_groups for p in group["params"]]
        there = [g for _, g in grads if g is not None]
        after = self._since_step
        ours = {id(p) for p, _ in grads}
        unreached = bool(after) and not there and not ours & set(self.leaves)  # which is told by itself
        zeroed = bool(after) and self._zeroed and all(_is_zero(g) for g in there)  # else they are 0 by themselves
        if not unreached and (not there or zeroed):
            self.found(Finding(
                "step without gradients", "the optimizer takes a step, and there are no gradients",
                "They were thrown away between backward and step: zero_grad stands in the wrong place." if after else
                "No backward came before it: the step does nothing.",
                (Fix("the order is", "optimizer.zero_grad(); loss.backward(); optimizer.step()"),),
                (Steps((Step("backward", "gradients come", GOOD if after else GONE),
                        *((Step("zero_grad", "and go", CLASH),) if after else ()),
                        Step("step", "finds none", CLASH))),), self.here()))
        self.steps += 1
        self._since_step = 0
        added = [self._added[id(p)] for p, _ in grads if id(p) in self._added]
        if added:
            self.found(Finding(
                "forgotten zero_grad", f"the gradients of the step before are still there: {len(added)} tensors",
                "Backward adds to the gradients that it finds. Without zero_grad each step goes along the sum of all "
                "gradients since the beginning.",
                (Fix("in each step, before backward", "optimizer.zero_grad()"),
                 Fix("or, by hand", "w.grad = None")),
                (Steps((Step("backward", "gradient 1", GOOD), Step("step", "uses it"),
                        Step("backward", "gradient 1 + gradient 2", CLASH), Step("step", "uses the sum"))),), added[0]))

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Note that an optimizer has taken a step."""
        for watcher in self.watchers:
            watcher.after_step(optimizer)
        for parameter in [p for group in optimizer.param_groups for p in group["params"]]:
            self.stepped[library_of(parameter).address(parameter)] = self.steps
            grad = library_of(parameter).grad(parameter)
            self._added.pop(id(parameter), None)
            self._used.pop(id(parameter), None)
            if grad is not None and not _is_zero(grad):
                self._used[id(parameter)] = weakref.ref(parameter), _identity(grad)

    # -- rules ---------------------------------------------------------------------------------------------------------

    def _begin_backward(self, library: Library, event: DispatchEvent, task: BackwardPass) -> None:
        self.passes += 1
        self._since_step += 1
        self._zeroed = False
        place = line_of(*event.site)
        for key, (ref, identity) in list(self._used.items()):
            parameter = ref()
            grad = None if parameter is None else library_of(parameter).grad(parameter)
            if grad is None or _identity(grad) != identity or _is_zero(grad):
                del self._used[key]
                self._added.pop(key, None)
            else:
                self._added[key] = place
        moody = [name for name, training in self._modes if name in MOODY and not training]
        if moody and not any(training for _, training in self._modes):
            self.found(Finding(
                "eval while training", "the model is in evaluation mode, and is trained",
                f"{' and '.join(dict.fromkeys(moody))} do otherwise while a model trains: dropout drops, batch "
                "normalisation takes statistics of the batch, and remembers them.",
                (Fix("before training", "model.train()"),),
                (Steps((Step("model.eval()", "called before, and never undone"),
                        Step("training", "as if predicting", CLASH))),), place))
        self._modes = []
        if (self.passes <= GRAPHS or self._is_new) and (roots := list(task.roots())):
            graph = Graph(roots, library)
            self.leaves |= {id(leaf): leaf for leaf in graph.leaves}
            for finding in (*of_graph(graph), *of_chains(graph)):
                self.found(finding)
            self._begins_at_leaf(graph, place)
            self._steps_first(graph)
        self._sequences, self._is_new = [], False
        if self._walked < WALKING:
            self._walk(library, list(task.roots()), place)

    def _walk(self, library: Library, roots: list[Any], place: Any) -> None:
        """Go from a loss to the leaves, and report the way."""
        began = time.perf_counter()
        nodes = {id(root): root for root in roots}
        waiting, leaves = list(roots), []
        for node in waiting:
            below, variable = library.links(node)
            if variable is not None:
                leaves.append(variable)
            for other in below:
                if id(other) not in nodes:
                    nodes[id(other)] = other
                    waiting.append(other)
        self.leaves |= {id(leaf): leaf for leaf in leaves}
        self.sizes.append(len(nodes))
        run = Pass(self.passes, library, roots, nodes, leaves, place)
        for watcher in self.watchers:
            watcher.backward(run)
        self._walked += time.perf_counter() - began

    def _first_nan(self, event: DispatchEvent, args: tuple[Any, ...], result: Any,
                   task: BackwardPass | None) -> None:
        bad, packet = _bad(result), event.op.partition(".")[0]
        if not bad or "empty" in packet or any(finding.kind == "first NaN" for finding in self.findings):
            return
        if any(map(_bad, args)):
            if bad == "NaN" and self._infinite is not None:
                self.found(self._infinite)  # it was not meant: NaN came of it
            return
        name = packet.removesuffix("_").removeprefix("_")
        node = None if task is None else task.node
        if task is not None:
            place = called_at(node.metadata.get("traceback_", ())) if node is not None else line_of(*event.site)
            forward = re.sub(r"Backward\d*$", "", node.name()) if node is not None else packet
            cause = (f"Forward was all right: in backward, {packet} made it. The slope of {forward.lower()} is "
                     "infinite or undefined where it was computed, and 0 times infinity is NaN.")
            fixes = (Fix("keep the operand away from there", f"(x + 1e-8).{forward.lower()}()"
                         if forward.lower() in ("sqrt", "log") else "x.clamp(min=1e-6)"),)
            title = f"the backward of {forward} makes the first NaN"
        else:
            place = line_of(*event.site)
            known = next((row for key, row in MADE_NAN.items() if name.startswith(key)), None)
            cause = ("Its operands are all finite, and its result is not: "
                     f"{known[0] if known else 'the values are beyond its domain or its dtype'}. Whatever is computed "
                     "from it is NaN too, and so are all gradients.")
            fixes = (Fix("keep the operand where the result is finite", known[1] if known else "x.clamp(-1e6, 1e6)"),)
            title = f"{packet} makes the first {bad}"
        finding = Finding("first NaN", title, cause, fixes,
                          (Steps((Step("operands", "finite", GOOD), Step(packet, bad, CLASH),
                                  Step("what follows", "NaN", GONE))),), place)
        if bad == "NaN":
            self.found(finding)
        else:
            self._infinite = self._infinite or finding

    def _begins_at_leaf(self, graph: Graph, place: Any) -> None:
        """``torch.tensor(loss.item(), requires_grad=True)``, ``loss.requires_grad_()``."""
        if len(graph.nodes) > 1 or not graph.leaves or any(id(p) == id(graph.leaves[0]) for p in self._parameters()):
            return
        self.found(Finding(
            "loss without history", "backward begins at a tensor that nothing computed",
            "It was made anew from a number, or told to require grad afterwards: by torch.tensor(loss), .item(), "
            "requires_grad_(), or after argmax, a comparison or NumPy. Its graph is that one tensor, so no gradient "
            "reaches a parameter.",
            (Fix("go back from what the loss function returned", "loss = loss_function(model(x), y); loss.backward()"),
             Fix("of several losses, add the tensors", "loss = sum(losses)")),
            (Steps((Step("model(x)", "has a graph", GOOD), Step("a number", "the graph is lost", GONE),
                    Step("loss", "a new leaf", CLASH), Step("backward", "ends where it begins", CLASH))),), place))

    def _parameters(self) -> Iterator[Any]:
        for model in [*self.models]:
            yield from model.parameters()

    def _steps_first(self, graph: Graph) -> None:
        """Find a recurrent layer that reads samples as steps: the loss has one target for each of its steps."""
        targets = [seen.kept("target") for seen in graph.nodes.values() if "Loss" in seen.operator]
        counts = {t.shape[0] for t in targets if is_tensor(t) and (len(t.shape) == 1 or tuple(t.shape[1:]) == (1,))}
        for kind, (steps, samples, features) in self._sequences:
            if steps in counts and samples > 1 and samples != steps:
                self.found(Finding(
                    "samples as steps",
                    f"{kind} reads [{steps}, {samples}, {features}] as {steps} steps of {samples} samples",
                    f"There is a target for each of {steps}, so dimension 0 seems to count the samples. Without "
                    "batch_first the layer goes from sample to sample as from step to step, and mixes them.",
                    (Fix("say that samples come first", f"nn.{kind}(…, batch_first=True)"),
                     Fix("or exchange the dimensions", "x.transpose(0, 1)")),
                    (Shapes((ShapeRow("read as", cells((steps, samples, features), (0, 1))),),
                            ("steps", "samples", "features")),)))

    def _made_anew(self, module: Any) -> None:
        """Find a layer that is created where it is called: the previous pass's layer no longer exists."""
        place = self.here()
        key = type(module).__name__, place and (place.file, place.line)
        known = self._called.setdefault(key, [])
        entry = next((entry for entry in known if entry[0]() is module), None)
        if entry is not None:
            entry[1] += 1
            return
        lost = [entry for entry in known if entry[0]() is None and entry[1] == 1 and not entry[2] & self.stepped.keys()]
        known.append([weakref.ref(module), 1, {library_of(p).address(p) for p in module._parameters.values()
                                               if p is not None}])
        if lost:
            self.models.pop(module, None)  # which ends with its pass: whether it is collected by the end is chance
            self.found(Finding(
                "made in each pass", f"a new {key[0]} is made in each pass, with new random weights",
                "It is made where it is called. What one pass would teach it is thrown away with it, no optimizer "
                "knows it, and the same input gives another result each time.",
                (Fix("make it once, in __init__", f"self.layer = nn.{key[0]}(…)"),
                 Fix("and call it in forward", "x = self.layer(x)")),
                (Steps((Step("pass 1", f"{key[0]} with random weights"), Step("pass 2", "another one", CLASH),
                        Step("pass 3", "another one", CLASH))),), place))

    def _compared(self, event: DispatchEvent, left: Any, right: Any) -> None:
        """``(model(x) > 0) == y`` of [N, 1] and [N]: an accuracy beyond 100 %."""
        if not is_tensor(left) or not is_tensor(right):
            return
        shapes = tuple(left.shape), tuple(right.shape)
        n = max(shapes[0][:1] + shapes[1][:1], default=0)
        if n < 2 or set(shapes) != {(n,), (n, 1)} or _identity(left) == _identity(right):
            return  # of one tensor, all pairs are meant
        self.found(Finding(
            "comparison broadcasts", f"{list(shapes[0])} and {list(shapes[1])} are compared in all {n * n} pairs",
            f"Broadcasting makes [{n}, {n}] of them. Counted as right answers, they make an accuracy that may be "
            "beyond 100 %, and says nothing.",
            (Fix("give both one shape", "(pred.squeeze(-1) == y).float().mean()"), Fix("or", "pred.view_as(y) == y")),
            (Shapes((under(shapes[0], "one"), under(shapes[1], "the other"),
                     ShapeRow("compared", cells((n, n), (0, 1)), f"{n * n} pairs instead of {n}"))),),
            line_of(*event.site)))

    def _targets(self, target: Any) -> None:
        values = library_of(target).values(target) if is_tensor(target) else None
        if values is not None and values.dtype.kind == "i" and values.size >= 4:
            self._classes.append(frozenset(np.unique(values).tolist()))

    def _scale(self, event: DispatchEvent, x: Any) -> None:
        values = library_of(x).values(x) if is_tensor(x) and not x.requires_grad else None
        if values is None or not values.size or values.dtype.kind != "f":
            return
        size = float(np.abs(values[:256]).mean())
        if np.isfinite(size) and size > LARGE:
            self.found(Finding(
                "large inputs", f"the inputs of the first layer are of the size of {size:.0f}",
                "Weights begin in a size that suits inputs around 1. Larger inputs make large gradients, saturated "
                "units and steps that leap.",
                (Fix("of pixels from 0 to 255", "x = x / 255"), Fix("or by column", "x = (x - x.mean(0)) / x.std(0)")),
                (Groups((Group("mean size", (f"{size:.0f}",), CLASH), Group("wanted", ("about 1",), GOOD))),),
                line_of(*event.site)))

    def _dropped(self, event: DispatchEvent) -> None:
        models = [*self.models]
        if models and not any(m.training for m in models):
            self.found(Finding(
                "dropout while predicting", "dropout is on although the model is in evaluation mode",
                "F.dropout drops unless it is told not to: it does not know of the module's mode.",
                (Fix("tell it", "F.dropout(x, 0.5, training=self.training)"),
                 Fix("or use the module", "nn.Dropout(0.5)")),
                (Steps((Step("model.eval()", "predicting", GOOD), Step("F.dropout", "drops all the same", CLASH))),),
                line_of(*event.site)))

    def finish(self) -> None:
        """Report the findings that need the whole record."""
        for finding in self._candidates if self.passes else ():
            self.found(finding)
        for watcher in self.watchers:
            watcher.finish()
        if len(self._classes) > 2 and all(len(c) == 1 for c in self._classes) and len(set(self._classes)) > 1:
            self.found(Finding(
                "sorted batches", "each batch holds samples of one class alone",
                "The data is sorted by class, and not shuffled. Each step then learns to answer with the class of the "
                "batch, and unlearns the one before.",
                (Fix("shuffle", "DataLoader(dataset, batch_size=32, shuffle=True)"),
                 Fix("or by hand", "order = torch.randperm(len(x)); x, y = x[order], y[order]")),
                (Groups(tuple(Group(f"batch {i}", (f"class {next(iter(c))}",), CLASH)
                              for i, c in enumerate(self._classes[:3]))),)))
        if self.passes and not self.steps:
            named = [(name, value) for name, value in self.namespace.items() if not name.startswith("_")]
            waiting = [(name, value) for name, value in named if is_optimizer(value)]
            learning = {id(p) for _, o in waiting for group in o.param_groups for p in group["params"]}
            if waiting and learning & set(self.leaves):
                self.found(Finding(
                    "no step", f"backward ran {self.passes} times, and {waiting[0][0]} took no step",
                    "Backward leaves gradients in the parameters. Changing the parameters by them is the optimizer's "
                    "step, which was not called; without parentheses, it is only named.",
                    (Fix("after backward", f"{waiting[0][0]}.step()"),),
                    (Steps((Step("backward", "gradients come", GOOD), Step("step", "never called", CLASH))),)))

    def here(self) -> Any:
        """Return the program's line that is running."""
        frame = sys._getframe(1)
        while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ("mindtorch", "torch"):
            frame = frame.f_back  # type: ignore[assignment]
        return None if frame is None else line_of(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _identity(gradient: Any) -> Any:
    """Return a key that stays equal while gradients are accumulated into one tensor."""
    return library_of(gradient).counted(gradient) or id(gradient)


def _is_zero(tensor: Any) -> bool:
    values = library_of(tensor).values(tensor)
    return values is not None and not values.any()


def _bad(value: Any) -> str:
    """'NaN' or 'infinity', if a result or an argument has one; '' if not."""
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_bad, value)), "")
    if isinstance(value, float):
        return "" if math.isfinite(value) else "infinity"
    values = library_of(value).values(value) if is_tensor(value) else None
    if values is None or values.dtype.kind not in "fc" or not values.size or np.isfinite(values).all():
        return ""
    return "NaN" if np.isnan(values).any() else "infinity"


@contextmanager
def recording(namespace: Mapping[str, Any]) -> Iterator[Recording]:
    """Record a block in anomaly mode, so that nodes know their lines."""
    found = Recording(namespace)
    with ExitStack() as block:
        for library in libraries():
            block.enter_context(library.training(found))
        yield found
    found.finish()
