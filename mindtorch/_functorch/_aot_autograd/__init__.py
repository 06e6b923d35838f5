"""The stages of AOTAutograd: what a call does, its graph, the graph's two halves, and what is done as it runs."""
