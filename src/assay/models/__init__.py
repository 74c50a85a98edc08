"""Everything pretrained: weights, parsers, encoders, language models, adapters."""
