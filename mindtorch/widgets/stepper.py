"""The backward stepper: one node of the graph a click."""
from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from IPython import get_ipython
from ipywidgets import Button, IntSlider, Layout

from ..introspect import BackwardSteps, StepFacts, named_tensors
from ..viz import stepper_page, stepper_text
from ..viz.html import Markup
from .base import NAMES, Explorer, in_row


class BackwardStepper(Explorer):
    """Run ``loss.backward(gradient, retain_graph)`` one node per click: gradients arrive, saved tensors are freed.
    The slider goes back to look, and on to run.

    The gradients in the end are those of ``backward``. ``named`` are tensors by name, by default the notebook's. The
    widget keeps the graph alive until the last step, as the loss does. ``forward`` and ``rest`` are the buttons,
    ``steps`` is what runs, ``shown`` the slider.

    Raises:
        ValueError: if the tensor has no graph.
        RuntimeError: as ``backward`` does, if a gradient is needed and not given.
    """

    def __init__(self, loss: Any, gradient: Any = None, retain_graph: bool = False,
                 named: Mapping[str, Any] | None = None):
        self.steps = BackwardSteps(loss, gradient, retain_graph, _names() if named is None else named)
        self.forward = Button(description="run one node", button_style="primary", icon="step-forward")
        self.rest = Button(description="run the rest", icon="fast-forward")
        self.shown = IntSlider(
            0, min=0, max=self.steps.total, description="step", style=NAMES, layout=Layout(width="26rem"))
        self.forward.on_click(lambda _: self.run(1))
        self.rest.on_click(lambda _: self.run(self.steps.total))
        super().__init__([in_row(self.forward, self.rest, self.shown)], [self.shown])

    def run(self, count: int = 1) -> None:
        """Run so many nodes more, if there are as many. An error that a node raises is shown."""
        self.shown.value = min(len(self.steps.taken) + count, self.steps.total)

    def arrange(self) -> None:
        with suppress(Exception):  # which the picture shows: ``steps.error``
            while len(self.steps.taken) < self.shown.value and not self.steps.finished:
                self.steps.step()
        self.shown.value = min(self.shown.value, len(self.steps.taken))
        self.forward.disabled = self.rest.disabled = self.steps.finished

    @property
    def facts(self) -> list[StepFacts]:
        """The steps up to the one that is looked at."""
        return self.steps.taken[: self.shown.value]

    def page(self) -> Markup:
        return stepper_page(self.steps.graph, self.facts, self.steps.total, self._error())

    def text(self) -> str:
        return stepper_text(self.steps.graph, self.facts, self.steps.total, self._error())

    def _error(self) -> str:
        return self.steps.error if self.shown.value == len(self.steps.taken) else ""


def _names() -> dict[str, Any]:
    """Return the notebook's tensors by name."""
    shell = get_ipython()
    return {} if shell is None else dict(named_tensors(shell.user_ns))


backward_stepper = BackwardStepper
