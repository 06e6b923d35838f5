"""Lesson 5: which key first?"""
from __future__ import annotations

from collections.abc import Callable

from ..tasks import Lab, Lesson, Prediction, described
from . import course, torch

PREDICTIONS = (
    Prediction("order", "w requires grad. Which comes first in a call of w * 2: recording the derivative (write "
               "'Autograd') or computing the product (write 'CPU')?", "Autograd",
               "Autograd has to see the call before it is computed, because it saves what the derivative needs; it "
               "then passes the call on to the next key, CPU."),
    Prediction("inside", "How many operators does autograd record for (w * 2).sum(), where mul and sum call nothing "
               "else?", 2,
               "One node for mul and one for sum. While the CPU kernel runs, Autograd is excluded: otherwise the "
               "operators that a kernel calls would be recorded a second time."),
    Prediction("leaf", "w is float32. Autocast has computed x @ w in bfloat16. What is the dtype of w.grad?",
               "float32", "The cast is an operator like any other, and was recorded, since the key of autocast comes "
                          "before Autograd. Its derivative casts the gradient back."),
)


#: What is computed with the key, as readers would write it.
PROGRAMS: dict[str, Callable] = {
    "x @ w": lambda x, w: x @ w,
    "x + w.t()": lambda x, w: x + w.t(),
    "x.double() @ w.double()": lambda x, w: x.double() @ w.double(),
    "(x @ w).relu()": lambda x, w: (x @ w).relu(),
    "torch.nn.functional.linear(x, w.t(), torch.ones(2))":
        lambda x, w: torch.nn.functional.linear(x, w.t(), torch.ones(2)),
    "x.exp()": lambda x, w: x.exp(),
    "torch.arange(6).view(2, 3) @ torch.arange(3)": lambda x, w: torch.arange(6).view(2, 3) @ torch.arange(3),
}


def _run(function, program, factor=1.0):
    """Return the result of a program with the key, and the gradient of w."""
    x = torch.tensor([[1., 2.004, 3], [4, 5, 6.02]]) * factor
    w = torch.tensor([[1., 2], [3, 4.01], [5, 6]], requires_grad=True)
    with course.add_key("Autocast", function):
        found = PROGRAMS[program](x, w)
    if not isinstance(found, torch.Tensor):
        return {"the result": found}
    seen = {"the result": found.detach(), "whether it requires grad": found.requires_grad}
    if found.requires_grad:
        found.sum().backward()
        seen["the gradient of w"] = w.grad
    return seen


LESSON = Lesson(
    5, "keys", "Which key first?", "05_keys", 30, PREDICTIONS,
    (Lab(
        "autocast", "How do you put a step in front of all operators?", "autocast",
        tuple((name,) for name in PROGRAMS),
        ("Exclude your own key first: everything happens inside `with course.excluded('Autocast'):`.",
         "Check op.name. For 'matmul' and 'linear', cast the arguments that are float32 tensors; then call op(*args) "
         "in any case.",
         "args = [a.to(torch.bfloat16) if isinstance(a, torch.Tensor) and a.dtype is torch.float32 else a for a in "
         "args]"),
        4, run=_run, describe=described, refuses=("autocast.__enter__",)),
     ),
)
