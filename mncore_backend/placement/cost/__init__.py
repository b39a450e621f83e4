"""What decisions about places cost: steps of each kind of work, and what a step of each kind counts."""
