"""Figures before and after to one self-contained page: pairs as points that move to the diagonal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jinja2 import Environment, select_autoescape

from assay.core import Floats
from assay.mitigation.evaluation import Evaluation
from assay.run.results import make_folder, write_text

_SIZE = 260  # pixels a picture
_MOST = 400  # points a picture
_TEMPLATE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Before and after</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse }
td, th { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: left }
figure { display: inline-block; margin: 0 1rem 1rem 0 } svg { background: #fafafa; border: 1px solid #ddd }
circle { fill: #1f6fb2; fill-opacity: .45 } line { stroke: #999 } .blinded { color: #b00020 }
</style>
<h1>Before and after</h1>
<p>Each point is a pair of texts that differ only in whom they speak of. Across: the score of the first;
up: the score of the second. A fair metric puts every point on the diagonal.</p>
{% for name in sets %}<h2>{{ name }}</h2>
{% for picture in pictures[name] %}<figure>
<figcaption>{{ picture.metric }}: bias {{ picture.bias }}</figcaption>
<svg width="{{ size }}" height="{{ size }}" role="img" aria-label="scores of pairs">
<line x1="0" y1="{{ size }}" x2="{{ size }}" y2="0"/>
{% for x, y in picture.points %}<circle cx="{{ x }}" cy="{{ y }}" r="3"/>{% endfor %}
</svg></figure>{% endfor %}{% endfor %}
<h2>Verdicts</h2>
<ul>{% for metric, label in labels.items() %}
<li class="{{ label }}">{{ metric }}: {{ label }}</li>{% endfor %}</ul>
<h2>Figures</h2>
<table><tr><th>metric<th>what<th>on<th>value<th>95% CI<th>change<th>95% CI<th>n</tr>
{% for f in figures %}<tr><td>{{ f.metric }}<td>{{ f.kind }}<td>{{ f.slice }}<td>{{ "%.4g"|format(f.value) }}
<td>{{ interval(f.ci) }}<td>{{ "" if f.change is none else "%+.4f"|format(f.change) }}
<td>{{ interval(f.change_ci) }}<td>{{ f.n }}</tr>
{% endfor %}</table>
<p>The change of a bias is the share of it that is gone (1 is all); of the others, the difference.</p>
</html>
"""


def write_page(tested: Evaluation, folder: Path) -> Path:
    """before_after.html in the folder."""
    path = folder / "before_after.html"
    make_folder(folder)
    write_text(path, page(tested))
    return path.resolve()


def page(tested: Evaluation) -> str:
    """The page as text; everything escaped."""
    environment = Environment(autoescape=select_autoescape(default_for_string=True))
    sets = list(next(iter(tested.pairs.values()), {}))
    pictures = {name: [_picture(tested, metric, name) for metric in tested.pairs] for name in sets}
    return environment.from_string(_TEMPLATE).render(
        sets=sets,
        pictures=pictures,
        figures=tested.figures,
        labels=tested.labels,
        size=_SIZE,
        interval=_interval,
    )


def _picture(tested: Evaluation, metric: str, name: str) -> dict[str, object]:
    bias = tested.figure(metric, "bias", name).value
    return {"metric": metric, "bias": f"{bias:.2f}", "points": points(tested.pairs[metric][name])}


def points(values: Floats) -> list[tuple[float, float]]:
    """Scores to places in the picture, both axes on the set's own span; up is higher."""
    kept = values[np.isfinite(values).all(axis=1)][:_MOST]
    low, span = (float(kept.min()), float(np.ptp(kept)) or 1.0) if kept.size else (0.0, 1.0)
    scaled = (kept - low) / span * (_SIZE - 12) + 6
    return [(round(float(x), 1), round(_SIZE - float(y), 1)) for x, y in scaled]


def _interval(ci: tuple[float, float] | None) -> str:
    return "" if ci is None else f"{ci[0]:.3g} .. {ci[1]:.3g}"
