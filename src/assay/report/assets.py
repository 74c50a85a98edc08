"""Styles, scripts and specifications of charts, which lie beside the templates."""

from importlib.resources import files


def asset(name: str) -> str:
    """The text of a file beside the templates."""
    return files(__package__).joinpath("templates", name).read_text("utf-8")
