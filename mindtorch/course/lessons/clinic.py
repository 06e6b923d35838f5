"""Lesson 15: what is wrong with this program?"""
from __future__ import annotations

from ..tasks import Lab, Lesson, Prediction

PREDICTIONS = (
    Prediction("loss", "out has the shape (8, 1) and y the shape (8,). The loss is the mean of the squares of out - y. "
                       "How many numbers is it the mean of?", 64,
               "A column and a row broadcast to 8 by 8: every prediction is compared with every target. The mean is "
               "smallest where all predictions are the same."),
    Prediction("third", "The loop does not call zero_grad. The gradient of each pass is 2. What is w.grad after "
               "the third pass?", 6, "Leaves add gradients. So each step follows the sum of all gradients since the "
               "beginning, and the steps grow."),
    Prediction("tower", "The tower has five layers, each with a weight and a bias; four of the layers are in a list. "
               "How many tensors does tower.parameters() find?", 2,
               "A list is not a module, so the layers in it are not found, not trained, not saved and not moved to a "
               "device. torch.nn.ModuleList is the cure."),
    Prediction("leaf", "w requires grad and is a leaf. What does w -= 0.1 * w.grad raise, outside of no_grad()?",
               "RuntimeError", "A leaf that requires grad cannot be written while operators are recorded: it would "
                               "stop being a leaf."),
)


LESSON = Lesson(
    15, "clinic", "What is wrong with this program?", "15_clinic", 40, PREDICTIONS,
    (Lab(
        "product", "Why does a product fail?", "explain_product",
        (((2, 3), (4, 3)), ((2, 3), (3, 4)), ((2, 3), (2, 5)), ((2, 3), (5, 2)), ((2, 3), (5, 7)), ((4, 4), (4, 4)),
         ((2, 3), (2, 3)), ((3, 4), (3, 3)), ((2, 3), (2, 2))),
        ("Two matrices match if the first has as many columns, shape[1], as the second has rows, shape[0].",
         "Transposing swaps the two numbers of a shape. Try the four products one after the other, with the shapes "
         "that their factors would have.",
         "return a[1], b[0], and a list of \"a @ b.t()\" if a[1] == b[1], \"a.t() @ b\" if a[0] == b[0], and so on"),
        4),
     ),
)
