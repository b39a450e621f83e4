"""List schedules: no unit works on two tasks at once, and no task starts before what it needs."""

from hypothesis import given
from hypothesis import strategies as st

from mnc.mncore_backend.placement.solve.list_schedule import Task, scheduled

UNITS = 3
steps = st.floats(0.0, 50.0)


@st.composite
def random_tasks(draw: st.DrawFn) -> list[Task]:
    """Tasks that need some of those before them."""
    tasks: list[Task] = []
    for number in range(draw(st.integers(0, 12))):
        after = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        tasks.append(Task(draw(st.tuples(*[steps] * UNITS)), draw(steps), tuple(sorted(after))))
    return tasks


def longest_chain(tasks: list[Task]) -> float:
    ends: list[float] = []
    for task in tasks:
        ends.append(task.steps + max((ends[needed] for needed in task.after), default=0.0))
    return max(ends, default=0.0)


@given(random_tasks())
def test_a_schedule_lasts_as_long_as_the_longest_chain_and_the_busiest_unit_and_no_longer_than_all_one_by_one(
    tasks: list[Task],
) -> None:
    busiest = max((sum(task.busy[unit] for task in tasks) for unit in range(UNITS)), default=0.0)
    found = scheduled(tasks)
    assert found >= max(longest_chain(tasks), busiest) * (1 - 1e-9)
    assert found <= sum(task.steps for task in tasks) * (1 + 1e-9)


def test_tasks_that_need_other_units_run_at_the_same_time() -> None:
    assert scheduled([Task((10.0, 0.0), 0.0), Task((0.0, 7.0), 0.0)]) == 10.0
    assert scheduled([Task((10.0, 0.0), 0.0), Task((7.0, 0.0), 0.0)]) == 17.0


def test_a_unit_is_free_while_a_result_is_waited_for() -> None:
    assert scheduled([Task((10.0,), 20.0), Task((15.0,), 0.0)]) == 30.0


def test_what_most_depends_on_goes_first() -> None:
    long, short, behind = Task((30.0, 0.0), 0.0), Task((5.0, 0.0), 0.0), Task((0.0, 40.0), 0.0, (1,))
    assert scheduled([long, short, behind]) == 45.0


def test_nothing_takes_no_time() -> None:
    assert scheduled([]) == 0.0
    assert scheduled([Task((0.0,), 0.0), Task((0.0,), 0.0, (0,))]) == 0.0
