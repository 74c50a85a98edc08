"""Excel workbooks (.xlsx): a zip of XML, of which the first sheet with content is read as rows of texts.

Sizes are checked in the zip's own directory before anything is unpacked, and a document type is refused: XML
can otherwise grow without end.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from assay.errors import DataError, RowError

SHEET = ".xlsx"
_LARGEST = 100_000_000  # bytes of the unpacked parts of a workbook that are read
_MOST_COLUMNS = 16_384  # of a sheet of Excel
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/spreadsheetml/main}"  # the same in ISO's own form
_RELATION = re.compile(r"\{.*\}id$")  # the attribute of a sheet that names its part
_OLD = b"\xd0\xcf\x11\xe0"  # how .xls files and workbooks with a password begin
_ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")


def sheet_rows(path: Path) -> Iterator[tuple[int, list[str] | RowError]]:
    """The number of each row that is not blank, and its cells as texts, as many as the first row has."""
    try:
        with path.open("rb") as file:
            if file.read(4) == _OLD:
                problem = "an old workbook (.xls), or one with a password"
                raise DataError(f"{path}: {problem}; save it as .xlsx without a password, or as .csv")
        with zipfile.ZipFile(path) as book:
            yield from _first_sheet(path, book)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise DataError(f"cannot read {path}: {error}; is it a whole Excel file?") from error


def _first_sheet(path: Path, book: zipfile.ZipFile) -> Iterator[tuple[int, list[str] | RowError]]:
    texts = _shared_texts(path, book)
    for name in _sheet_names(path, book):
        width, is_empty = 0, True
        for number, cells in _rows(path, _part(path, book, name), texts):
            if isinstance(cells, dict):
                width = width or max(cells) + 1
                is_empty = False
                yield number, _row(path, number, cells, width)
            else:
                yield number, cells
        if not is_empty:
            return


def _row(path: Path, number: int, cells: dict[int, str], width: int) -> list[str] | RowError:
    """The cells of a row, as many as the first row has; an error where one stands beyond them."""
    beyond = max(cells)
    if beyond >= width:
        problem = (
            f"cell {_letters(beyond)}{number} stands in a column without a name; name it in the first row"
        )
        return RowError(path, "row", number, problem)
    return [cells.get(column, "") for column in range(width)]


def _part(path: Path, book: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """A part of the workbook, unless it is too large or declares a document type."""
    try:
        about = book.getinfo(name)
    except KeyError as error:
        raise DataError(f"{path}: {name} is missing in it; is it a whole Excel file?") from error
    if about.file_size > _LARGEST:
        raise DataError(f"{path}: {name} unpacks to more than {_LARGEST:,} bytes; save the sheet as .csv")
    try:
        text = book.read(about).decode("utf-8-sig")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise DataError(f"{path}: {name} has a document type of its own, which no workbook needs")
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, UnicodeDecodeError, ValueError, zlib.error) as error:
        raise DataError(f"{path}: {name} is not XML ({error}); is it a whole Excel file?") from error


def _sheet_names(path: Path, book: zipfile.ZipFile) -> list[str]:
    """The parts that hold sheets, in order, without hidden ones."""
    relations = _part(path, book, "xl/_rels/workbook.xml.rels")
    targets = {one.get("Id", ""): one.get("Target", "") for one in relations}
    names = []
    for sheet in _part(path, book, "xl/workbook.xml").iter():
        if sheet.tag in (f"{_MAIN}sheet", f"{_STRICT}sheet") and sheet.get("state", "visible") == "visible":
            named = next((value for key, value in sheet.items() if _RELATION.match(key)), "")
            names.append(str(PurePosixPath("xl") / targets.get(named, "").lstrip("/").removeprefix("xl/")))
    if not names:
        raise DataError(f"{path} has no visible sheet; give a workbook with a table in it")
    return names


def _shared_texts(path: Path, book: zipfile.ZipFile) -> list[str]:
    """The texts that cells name by their number."""
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    return [_text(one) for one in _part(path, book, "xl/sharedStrings.xml")]


def _text(element: ElementTree.Element) -> str:
    """The text of an entry, in one piece or in several of different fonts, without readings aid."""
    kinds = {"t": lambda child: child.text or "", "r": _text}
    named = [(child.tag.rpartition("}")[2], child) for child in element]
    return "".join(kinds[kind](child) for kind, child in named if kind in kinds)


def _rows(
    path: Path, sheet: ElementTree.Element, texts: list[str]
) -> Iterator[tuple[int, dict[int, str] | RowError]]:
    """Each row's number, and its cells by column; blank rows are left out."""
    number = 0
    for row in sheet.iter():
        if row.tag.rpartition("}")[2] != "row":
            continue
        given = row.get("r", "")
        number = int(given) if given.isdecimal() and len(given) < 8 else number + 1
        try:
            cells = _cells(row, texts)
        except ValueError as error:
            yield number, RowError(path, "row", number, str(error))
            continue
        if any(cells.values()):
            yield number, {column: text for column, text in cells.items() if text}


def _cells(row: ElementTree.Element, texts: list[str]) -> dict[int, str]:
    """The cells of a row by the number of their column."""
    cells: dict[int, str] = {}
    column = -1
    for cell in row:
        column = _column(cell.get("r", "")) if cell.get("r") else column + 1
        if not 0 <= column < _MOST_COLUMNS:
            raise ValueError(f"a cell is called {cell.get('r')!r}; is it a whole Excel file?")
        cells[column] = _value(cell, texts)
    return cells


def _value(cell: ElementTree.Element, texts: list[str]) -> str:
    """What a cell shows, as a text; empty where a formula has failed."""
    parts = {child.tag.rpartition("}")[2]: child for child in cell}
    if "is" in parts:
        return _text(parts["is"])
    shown = "".join(parts["v"].itertext()) if "v" in parts else ""
    kind = cell.get("t", "n")
    if kind == "s":
        return _shared(cell, shown, texts)
    if kind == "b":
        return "true" if shown == "1" else "false"
    return "" if kind == "e" or shown in _ERRORS else shown


def _shared(cell: ElementTree.Element, number: str, texts: list[str]) -> str:
    """The text that a cell names by its number."""
    if not number.isdecimal() or len(number) > 9 or int(number) >= len(texts):
        problem = f"cell {cell.get('r')} names text {number!r}, of which the workbook has {len(texts)}"
        raise ValueError(problem)
    return texts[int(number)]


def _column(name: str) -> int:
    """The number of a cell's column, 0 for A; -1 where the name is no cell's.

    >>> [_column(name) for name in ("A1", "Z9", "AA10", "?")]
    [0, 25, 26, -1]
    """
    found = re.match(r"([A-Z]{1,3})\d+$", name)
    number = 0
    for letter in found[1] if found else "":
        number = 26 * number + ord(letter) - 64
    return number - 1


def _letters(column: int) -> str:
    """The letters of a column.

    >>> [_letters(number) for number in (0, 25, 26, 701, 702)]
    ['A', 'Z', 'AA', 'ZZ', 'AAA']
    """
    letters = ""
    number = column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
