"""One run: from audits and metrics to scores, settled findings and a stored folder.

The package can be called: `assay.run("stress", ["bleu"])` is `assay.run.pipeline.run`. Without this the
package would hide the function of its name as soon as anything in it is imported.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.run.results import Run


class _Callable(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> "Run":
        """Run one audit; see `assay.run.pipeline.run` for the arguments."""
        from assay.run.pipeline import run

        return run(*args, **options)


sys.modules[__name__].__class__ = _Callable
