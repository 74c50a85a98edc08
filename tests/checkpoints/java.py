"""A stand-in of the Java programs of pycocoevalcap: the same requests and answers, by words in common."""

import json
import sys
from pathlib import Path


def overlap(text: str, references: list[str]) -> float:
    words = set(text.lower().split())
    return max(len(words & set(other.lower().split())) / (len(words) + 1) for other in references)


def meteor(line: str) -> list[str]:
    """The statistics of a text after SCORE; after EVAL the score of each and that of all."""
    request, *parts = line.split(" ||| ")
    if request == "EVAL":
        return [*parts, str(sum(map(float, parts)) / len(parts))]
    return [str(overlap(parts[-1], parts[:-1]))]


def spice(question: Path, answer: Path) -> None:
    rows = [
        {"image_id": task["image_id"], "scores": {"All": {"f": overlap(task["test"], task["refs"])}}}
        for task in json.loads(question.read_text("utf-8"))
    ]
    answer.write_text(json.dumps(rows), "utf-8")


def main(arguments: list[str]) -> None:
    if "-out" in arguments:
        place = arguments.index("-out")
        spice(Path(arguments[place - 1]), Path(arguments[place + 1]))
        return
    for line in sys.stdin.read().splitlines():
        print("\n".join(meteor(line) if "-stdio" in arguments else [line.lower()]))


if __name__ == "__main__":
    main(sys.argv[1:])
