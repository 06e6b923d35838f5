"""Mistakes that readers of lesson 26 make, each with its hint, and cases that only graders run."""
from __future__ import annotations

from functools import partial

from mindtorch.course.masters import Mistake, edited

changed = partial(edited, "numbers.fake_quantize")
RESULT = "return straight + (rounded - straight).detach()"

MISTAKES = (
    changed("round has slope 0: pass the gradient straight through it.", (RESULT, "return rounded")),
    changed("No gradient arrives: only the rounding is a constant, so detach the difference, not x.",
            (RESULT, "return rounded.detach()")),
    changed("Where x was clamped the gradient is 0: it flows only where low <= q <= high.",
            ("torch.where(inside, x, x.detach())", "x")),
    changed("The gradient flows inside the range, and not outside.",
            ("torch.where(inside, x, x.detach())", "torch.where(inside, x.detach(), x)")),
    changed("Round to the nearest integer: floor makes all numbers smaller.", (".round()", ".floor()")),
    changed("Round to the nearest integer: trunc cuts towards 0.", (".round()", ".trunc()")),
    changed("Clamp the integers to low and high.", ("q.clamp(low, high)", "q")),
    changed("Clamp to the low and the high that are given, not to -128 and 127.",
            ("q.clamp(low, high)", "q.clamp(-128, 127)"),
            ("(q >= low) & (q <= high)", "(q >= -128) & (q <= 127)")),
    changed("Clamp q, which is an integer, not x or x / scale.",
            ("rounded = (q.clamp(low, high) - zero_point) * scale",
             "rounded = ((x.clamp(low, high) / scale).round() + zero_point - zero_point) * scale")),
    changed("Go back from the integers: subtract the zero point, and multiply by scale.",
            ("(q.clamp(low, high) - zero_point) * scale", "q.clamp(low, high)")),
    changed("Multiply by scale on the way back.", (" - zero_point) * scale", " - zero_point)")),
    changed("Subtract the zero point on the way back, before multiplying.",
            ("(q.clamp(low, high) - zero_point) * scale", "q.clamp(low, high) * scale")),
    changed("Subtract the zero point on the way back, before multiplying.",
            ("(q.clamp(low, high) - zero_point) * scale", "q.clamp(low, high) * scale - zero_point")),
    changed("The zero point is added before the clamp: it says which integer stands for 0.",
            ("(x / scale).round() + zero_point", "(x / scale).round()"),
            ("q.clamp(low, high) - zero_point", "q.clamp(low, high)")),
    changed("Divide x by scale first: the integers count steps of that size.", ("x / scale", "x * scale")),
    changed("The range is that of the integer before the clamp, not of x.",
            ("(q >= low) & (q <= high)", "(x >= low) & (x <= high)")),
    changed("The ends low and high belong to the range.", ("(q >= low) & (q <= high)", "(q > low) & (q < high)")),
    changed("Round before you ask whether the number is in the range: what is rounded to an end is inside.",
            ("(q >= low) & (q <= high)", "(x / scale + zero_point >= low) & (x / scale + zero_point <= high)")),
    changed("The gradient goes straight through: it is not multiplied by scale.",
            (RESULT, "return straight * scale + (rounded - straight * scale).detach()")),
    changed("The value must be the rounded one: x + (rounded - x).detach().", (RESULT, "return straight")),
    changed("The result keeps the dtype of x: the quantisation is fake.",
            (RESULT, "return (straight + (rounded - straight).detach()).double()")),
    Mistake("Return a new tensor, and leave x as it is.",
            lambda x, scale, zero_point, low, high: x.data.mul_(1 / scale).round_().clamp_(low, high).mul_(scale)),
)

MISTAKES_OF = {"fake_quantize": MISTAKES}
HIDDEN = {"fake_quantize": (((0.31, -0.29, 7.9, -9.0), 0.2, 5, -16, 15), ((1.2, 3.4, 5.6, 7.8), 2.0, 1, 0, 3))}
