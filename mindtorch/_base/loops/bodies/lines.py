"""Loops over rows and an operand that broadcasts to them."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .writing import loop


def of_lines(name: str, operation: Callable[[Any, Any], Any], lines_first: bool) -> None:
    """Build the loop of arithmetic between rows and another row, or a column. A single row is broadcast to all."""

    def body(x: Any, y: Any, out: Any) -> None:
        for row in range(len(x)):
            line, result, other = x[row], out[row], y[row if len(y) > 1 else 0]
            if len(other) == 1:
                number = other[0]
                for i in range(len(line)):
                    result[i] = operation(line[i], number) if lines_first else operation(number, line[i])
            else:
                for i in range(len(line)):
                    result[i] = operation(line[i], other[i]) if lines_first else operation(other[i], line[i])

    body.__name__ = body.__qualname__ = name
    loop("float32[:,::1]", "float32[:,::1]", "float32[:,::1]")(body)


of_lines("add_to_lines", operator.add, True)
of_lines("multiply_lines", operator.mul, True)
of_lines("subtract_from_lines", operator.sub, True)
of_lines("subtract_lines", operator.sub, False)
of_lines("divide_lines", operator.truediv, True)
of_lines("divide_by_lines", operator.truediv, False)
