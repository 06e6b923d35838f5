"""``torch.distributed.elastic.multiprocessing``."""
from .errors import record as record
