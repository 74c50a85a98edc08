from dataclasses import dataclass

from assay import Metric


@dataclass(frozen=True)
class LengthRatio(Metric):
    name = "length-ratio"

    def score(self, samples):
        return [len(s.hypothesis) / len(s.references[0]) for s in samples]
