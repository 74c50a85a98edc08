"""One run: from audits and metrics to scores, settled findings and a stored folder."""
