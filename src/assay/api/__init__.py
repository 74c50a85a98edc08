"""What `import assay` offers: running audits, scoring texts, and the run that comes of it."""
