"""Text to objects and back: names, specs, plug-ins and the inventory of what is there."""
