"""The class of jagged tensors, and what it does with each operator."""
