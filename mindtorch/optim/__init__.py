"""``torch.optim``: optimizers, schedules of their settings (``lr_scheduler``), averages of weights (``swa_utils``)."""
from typing import TYPE_CHECKING

from .._base.lazy import lazily as _lazily
from .optimizer import Optimizer

if TYPE_CHECKING:  # what a program does not use is not loaded: see ``_base.lazy``
    from . import lr_scheduler, swa_utils
    from ._adafactor import Adafactor
    from ._muon import Muon
    from .adadelta import Adadelta
    from .adagrad import Adagrad
    from .adam import Adam
    from .adamax import Adamax
    from .adamw import AdamW
    from .asgd import ASGD
    from .lbfgs import LBFGS
    from .nadam import NAdam
    from .radam import RAdam
    from .rmsprop import RMSprop
    from .rprop import Rprop
    from .sgd import SGD
    from .sparse_adam import SparseAdam

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils",
]
_getattr, _ = _lazily(__name__, __file__, ": mindtorch does not have this name of PyTorch")
if not TYPE_CHECKING:
    __getattr__ = _getattr
__dir__ = __all__.copy
