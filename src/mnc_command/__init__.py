"""Entry points of the commands. Ctrl-C ends them with one line from the first statement on, also while Python loads the
rest. Only modules that Python has loaded by itself are imported above the handler: each further one takes time.
"""

import _signal  # pyright: ignore[reportMissingImports]  # `signal` itself loads `enum` and more
import os


def _leave(_number: int, _frame: object) -> None:
    """Nothing has been begun yet that would have to be put in order."""
    os.write(2, b"interrupted\n")
    os._exit(130)


def _take_over() -> None:
    """What ignores Ctrl-C, as in the background of a script, goes on to ignore it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)


_take_over()


def mnc() -> None:
    """The command ``mnc``."""
    from mnc.core.command_line import run_and_leave
    from mnc.tools.mnc import main

    run_and_leave(main)


def mnc_opt() -> None:
    """The command ``mnc-opt``."""
    from mnc.core.command_line import run_and_leave
    from mnc.tools.mnc_opt import main

    run_and_leave(main)


def mnc_translate() -> None:
    """The command ``mnc-translate``."""
    from mnc.core.command_line import run_and_leave
    from mnc.tools.mnc_translate import main

    run_and_leave(main)
