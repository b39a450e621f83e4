"""mnc asm explain: a rule of the checker, with programs that break and keep it."""

import difflib

import click

from mnc.core.diagnostics import CompileError


def _rules(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    from mnc.mncore_backend.checker.rules import RULES

    return [name for name in RULES if name.startswith(begun)]


@click.command(short_help="Explain a rule that a finding names, or list all.")
@click.argument("rule", required=False, shell_complete=_rules)
def explain(rule: str | None) -> None:
    """Explain the RULE that a finding names, such as hazard-9b; without one, list all rules."""
    from mnc.mncore_backend.checker.examples import explanation
    from mnc.mncore_backend.checker.rules import RULES

    if rule is None:
        for name, row in RULES.items():
            click.echo(f"{name:22} {row.severity:8} {row.summary}")
        return
    name = rule.strip("[]")
    if name not in RULES:
        close = difflib.get_close_matches(name, RULES, 3)
        hint = f"did you mean {', '.join(close)}?" if close else "mnc asm explain lists all of them"
        raise CompileError(f"'{rule}' is not a rule of the checker", hint=hint)
    click.echo(explanation(name), nl=False)
