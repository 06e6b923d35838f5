"""The compiler behind ``torch.compile``: what the backend ``inductor`` makes of a graph that ``_dynamo`` captured.

==================  ==========================================================================  ===================
file                idea                                                                        in PyTorch
==================  ==========================================================================  ===================
``compiled_graph``  a captured graph's programs, and their node in autograd's graph             Inductor, AOTAutograd
``tracing``         the operators of the graph, recorded on tensors without values              AOTAutograd
``joint``           the graph of the derivative, and the tensors saved for it                   AOTAutograd
``passes``          functionalisation, common subexpressions, constants, dead code              AOTAutograd, Inductor
``fusion``          the steps that become one kernel                                            Inductor's scheduler
``program``         the Python that runs, and the memory of its arrays                          Inductor's code
``outputs``         the results of a call, and the views in them                                AOTAutograd
==================  ==========================================================================  ===================
"""
