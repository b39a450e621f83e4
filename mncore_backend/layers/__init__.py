"""Models of equal layers: the layer is compiled once, and what comes before and after it is compiled around it."""
