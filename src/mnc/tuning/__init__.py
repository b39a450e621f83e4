"""A search for shorter programs: compile again and again with other decisions, keep what takes the fewest cycles.

    trial.py          one compilation and its exact length, in any process
    search.py         which trial next, within a budget, on any executor of `concurrent.futures`
    schedule_file.py  decisions as a file that people read and change
    workers.py        processes of this computer, or a farm
"""
