"""LLM judges as metrics: prompt, transport, answer and budget."""
