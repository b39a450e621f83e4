"""mnc doctor: what is installed, and whether it works."""

import sys

import click

from mnc.tools.json_output import format_option, print_json


@click.command()
@format_option()
def command(output_format: str) -> None:
    """Print versions and optional parts, then compile a small model, run it and compare it with the ONNX reference.

    Exit code 0: it works; 1: it does not.
    """
    from mnc.self_test import examine

    found = examine()
    if output_format == "json":
        print_json({"passed": found.passed, "versions": found.versions, "parts": found.parts, "self_test": found.tests})
    else:
        for name, version in found.versions.items():
            click.echo(f"{name:23} {version}")
        for name, state in found.parts.items():
            click.echo(f"{name:23} {state}")
        for test in found.tests:
            result = "pass" if test["passed"] else "FAIL"
            click.echo(f"{test['name']:23} {result}  {test['seconds']:.2f} s  {test['text']}")
        click.echo("everything works" if found.passed else "something does not work, see above")
    if not found.passed:
        sys.exit(1)
