"""Numbers in, numbers out: intervals, tests, correlations and agreement.

Import from the modules. Every function that draws takes `seed`, an integer or a numpy Generator. Missing
entries (nan) are errors unless a function says that it accepts them. An undefined result is None, or nan
inside an array.
"""
