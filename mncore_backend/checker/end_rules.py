"""What a program leaves behind: tags out of balance (OPEN-52), masks that are not the default (OPEN-53)."""

from mnc.mncore_backend.assembly.records import Expression, MaskSetting, Transfer
from mnc.mncore_backend.checker.findings import Report


class EndTracker:
    """Remembers what has to be settled when a program ends."""

    def __init__(self) -> None:
        self._asserted: dict[int, int] = {}  # tag -> line of an MV that no wait has followed
        self._early: dict[int, int] = {}  # tag -> line of a wait that no MV precedes
        self._known: set[int] = set()

    def transfer(self, transfer: Transfer) -> None:
        """An MV asserts its tag."""
        if transfer.tag is not None:
            self._asserted[transfer.tag] = transfer.line
            self._known.add(transfer.tag)

    def step(self, expressions: tuple[Expression, ...], line: int) -> None:
        """The waits of a step."""
        for expression in expressions:
            if expression.opcode == "wait":
                tag = expression.tag or 0
                if self._asserted.pop(tag, None) is None:
                    self._early.setdefault(tag, line)

    def reports(self, masks: MaskSetting | None) -> list[tuple[int, Report]]:
        """(line, report) of what is left. Tags that the program never asserts belong to transfers of the host."""
        found: list[tuple[int, Report]] = []
        for tag, line in self._asserted.items():
            hint = "an internal assembler demands as many waits as asserts of a tag"
            found.append((line, Report("tag-balance", f"tag {tag:02x} is asserted here and not waited for", hint)))
        for tag, line in self._early.items():
            if tag in self._known:
                message = f"this wait has no assert of tag {tag:02x} before it"
                found.append((line, Report("tag-balance", message, "give every wait one MV with its tag")))
        if masks is not None:
            message = f"masks of entry {masks.entry} are left at the end, presumably for the next program"
            found.append((masks.line, Report("masks-left", message, "end with: mask 0")))
        return sorted(found, key=lambda pair: pair[0])
