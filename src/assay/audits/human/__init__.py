"""Agreement with people's ratings and preferences."""
