"""What pytest leaves out here."""

collect_ignore = ["guided.py"]  # a program that needs atheris; test_guided.py runs it
