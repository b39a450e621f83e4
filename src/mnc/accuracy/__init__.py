"""How far rounding may carry the results of a model: in the worst case, and with a stated probability.

Both walk over the graph that is compiled, with the same table of what each operation rounds (`rounding`).
"""
