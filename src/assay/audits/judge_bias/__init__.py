"""What must not move an LLM judge, and what helps against it."""
