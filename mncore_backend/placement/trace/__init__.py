"""Why a solution is what it is: every decision with its candidates and their prices."""
