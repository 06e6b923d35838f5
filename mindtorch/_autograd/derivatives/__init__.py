"""The derivatives, a module per family."""
from ..._dispatch.schemas import registry

registry.derivatives.written_in(__name__, __path__)
