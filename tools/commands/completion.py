"""mnc completion: a script for the shell."""

import click

COMMANDS = ("mnc", "mnc-opt", "mnc-translate")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes commands, options and files.

    \b
    bash:  eval "$(mnc completion bash)"             in ~/.bashrc
    zsh:   eval "$(mnc completion zsh)"              in ~/.zshrc
    fish:  mnc completion fish > ~/.config/fish/completions/mnc.fish
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    shells = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
    for name in COMMANDS:
        completion = shells[shell](command, {}, name, f"_{name.upper().replace('-', '_')}_COMPLETE")
        # `source()` would also ask the bash that is installed for its version.
        click.echo(completion.source_template % completion.source_vars())
