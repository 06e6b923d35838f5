"""``torch.distributed._tensor.experimental``: an old name."""
from ..tensor.experimental import implicit_replication as implicit_replication
