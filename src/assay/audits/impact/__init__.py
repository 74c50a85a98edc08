"""Impact: whose ranking would change if texts were about another group."""
