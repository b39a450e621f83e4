"""Solutions are compared and changed by what their movements really take."""
