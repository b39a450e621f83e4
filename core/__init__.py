"""Plumbing below every stage: bindings, contexts, diagnostics, passes and pipelines. Knows no operation."""
