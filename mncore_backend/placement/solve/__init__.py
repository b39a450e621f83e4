"""Solving a problem: states, the rules that lead from one to the next, and searches over them."""
