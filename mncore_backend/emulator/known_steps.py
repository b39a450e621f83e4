"""Steps that were decoded before: by situation and statement, and by situation and shape (see `templates`)."""

from typing import Any

from mnc.mncore_backend.assembly.records import Step
from mnc.mncore_backend.assembly.shapes import canonical
from mnc.mncore_backend.emulator.arena import Arena
from mnc.mncore_backend.emulator.constants import Constants
from mnc.mncore_backend.emulator.context import Context, Situation, Transition
from mnc.mncore_backend.emulator.decode import decode_step
from mnc.mncore_backend.emulator.plan import Plan
from mnc.mncore_backend.emulator.templates import Templates

STEP_LIMIT = 60_000
_UNKNOWN: tuple[Any, Any, Any] = (None, None, None)


class KnownSteps:
    """Plans of one machine. Situations have numbers, so that they do not refer to each other in circles."""

    def __init__(self, arena: Arena, constants: Constants, strict: bool) -> None:
        self.templates = Templates(arena, constants, strict)
        self._arena = arena
        self._constants = constants
        self._strict = strict
        self._situations: list[Situation] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._size = 0

    def recognise(self, context: Context) -> int:
        """The number of the situation that a context is in; from now on the context says so."""
        key = context.key()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._situations)
            self._situations.append(Situation(context))
        context.enter(self._situations[number])
        return number

    def follow(self, transition: Transition, context: Context) -> bool:
        """Put a context into the situation behind a step; false if it is not known."""
        if transition.following is None:
            return False
        context.enter(self._situations[transition.following])
        return True

    def find(self, statement: Step, context: Context) -> tuple[Plan, Transition]:
        """The plan of a step. Raises ValueError when it cannot be executed."""
        situation = context.situation
        if situation is None:
            situation = self._situations[self.recognise(context)]
        known, plan, transition = situation.steps.get(id(statement.expressions), _UNKNOWN)
        if known is statement.expressions:
            return plan, transition
        if self._size >= STEP_LIMIT:
            self._situations, self._numbers, self._size = [], {}, 0
            situation = self._situations[self.recognise(context)]
        self._size += 1
        plan, transition = self._make(statement, context, situation)
        situation.steps[id(statement.expressions)] = (statement.expressions, plan, transition)
        return plan, transition

    def _make(self, statement: Step, context: Context, situation: Situation) -> tuple[Plan, Transition]:
        pattern = self.templates.pattern(statement.expressions) if situation.is_plain else None
        transition = Transition()
        if pattern is not None:
            transition = situation.shapes.get(pattern.shape.number)
            if transition is None:
                transition = situation.shapes[pattern.shape.number] = Transition()
                transition.template = self.templates.find(pattern.shape, context)
            if transition.template is not None:
                return transition.template.fill(pattern.bindings), transition
            statement = Step(canonical(statement.expressions), statement.line)
        plan, calls = decode_step(self._arena, context, self._constants, statement, self._strict)
        if pattern is not None:
            transition.template = self.templates.keep(pattern, context, plan, calls)
        return plan, transition if transition.template is not None else Transition()
