"""Excel workbooks, and text files in encodings that spreadsheets write."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from assay.datasets import sheets
from assay.datasets.files import unusual_encoding
from assay.datasets.left_out import LeftOut
from assay.datasets.ratings import read_samples
from assay.datasets.rows import read_rows
from assay.errors import DataError

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TEXTS = ["Nr", "Übersetzung", "Referenz", "Bewertung (1-5)", "Ein Hund & eine Katze.", "Der Hund."]


def workbook(path: Path, sheet: str, *, texts: list[str] | None = None, **more: str) -> Path:
    """A workbook as Excel writes it: a hidden sheet, an empty one, and one with these rows."""
    empty = f'<worksheet xmlns="{MAIN}"><sheetData/></worksheet>'
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in (TEXTS if texts is None else texts))
    rich = "<si><r><t>Eine </t></r><r><t>Katze.</t></r><rPh><t>nicht</t></rPh></si>"
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="Geheim" sheetId="1" state="hidden" r:id="rId3"/><sheet name="Leer" sheetId="2" r:id="rId1"/>'
        '<sheet name="Daten" sheetId="3" r:id="rId2"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": "<Relationships>"
        '<Relationship Id="rId1" Target="worksheets/sheet1.xml"/>'
        '<Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/>'
        '<Relationship Id="rId3" Target="worksheets/sheet3.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{shared}{rich}</sst>',
        "xl/worksheets/sheet1.xml": empty,
        "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
        "xl/worksheets/sheet3.xml": "<secret/>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in (parts | more).items():
            if text:
                book.writestr(name, text)
    return path


def row(number: int, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def shared(place: str, text: int) -> str:
    return f'<c r="{place}" t="s"><v>{text}</v></c>'


HEAD = row(2, *(shared(f"{letter}2", place) for place, letter in enumerate("ABCD")))
FIRST = row(3, '<c r="A3"><v>7</v></c>', shared("B3", 4), shared("C3", 5), '<c r="D3"><v>4.5</v></c>')
SECOND = row(
    5,
    '<c r="B5" t="inlineStr"><is><t>Es regnet.</t></is></c>',
    shared("C5", 6),
    '<c r="D5" t="e"><v>#N/A</v></c>',
)


def test_a_workbook_is_read_like_a_table(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", HEAD + FIRST + SECOND)
    rows = read_rows(path)
    assert [row.line for row in rows] == [3, 5]
    assert rows[0].values == {
        "Nr": "7", "Übersetzung": "Ein Hund & eine Katze.", "Referenz": "Der Hund.", "Bewertung (1-5)": "4.5",
    }  # fmt: skip
    assert [rows[1].values[name] for name in ("Nr", "Referenz", "Bewertung (1-5)")] == ["", "Eine Katze.", ""]
    first, second = read_samples(path)
    assert (first.sample.hypothesis, first.human, second.human) == (
        "Ein Hund & eine Katze.",
        {"overall": (4.5,)},
        {},
    )


def test_a_bad_row_of_a_workbook_is_named_by_its_number(tmp_path: Path) -> None:
    rows = [row(n, shared(f"B{n}", 4), shared(f"C{n}", 5), f'<c r="D{n}"><v>3</v></c>') for n in range(3, 40)]
    rows[4] = row(7, shared("B7", 4), shared("C7", 5), '<c r="H7"><v>3</v></c>')
    rows[9] = row(12, '<c r="B12" t="s"><v>99</v></c>', shared("C12", 5))
    left_out = LeftOut(path := workbook(tmp_path / "t.xlsx", HEAD + "".join(rows)))
    assert len(read_samples(path, left_out=left_out)) == 35
    assert left_out.sentences() == [
        "t.xlsx: 1 of 37 rows left out: cell H7 stands in a column without a name (row 7)",
        "t.xlsx: 1 of 37 rows left out: cell B12 names text '99', of which the workbook has 7 (row 12)",
    ]


@pytest.mark.parametrize(
    ("sheet", "more", "message"),
    [
        ("", {}, "holds no rows"),
        ("<row", {}, r"sheet2.xml is not XML .*whole Excel file"),
        (HEAD, {"xl/workbook.xml": ""}, "xl/workbook.xml is missing in it"),
        (HEAD, {"xl/workbook.xml": f'<workbook xmlns="{MAIN}"/>'}, "has no visible sheet"),
        (HEAD, {"xl/sharedStrings.xml": "<!DOCTYPE x [<!ENTITY a 'b'>]><sst/>"}, "a document type of its own"),
        (HEAD + row(3, '<c r="?"><v>1</v></c>'), {}, r"row 3: a cell is called '\?'"),
        (HEAD + row(3, '<c r="ZZZZ3"><v>1</v></c>'), {}, "row 3: a cell is called 'ZZZZ3'"),
        (row(1, shared("A1", 1), shared("B1", 1)) + FIRST, {}, "row 1: column 'Übersetzung' is there more than once"),
    ],
)  # fmt: skip
def test_a_damaged_workbook_is_refused(
    tmp_path: Path, sheet: str, more: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_rows(workbook(tmp_path / "t.xlsx", sheet, **more))


def test_sizes_are_checked_before_anything_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "t.xlsx", HEAD + FIRST + " " * 100_000)
    monkeypatch.setattr(sheets, "_LARGEST", 50_000)
    with pytest.raises(
        DataError, match=r"sheet2.xml unpacks to more than 50,000 bytes; save the sheet as .csv"
    ):
        read_rows(path)


def test_old_workbooks_and_other_files_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    with pytest.raises(DataError, match=r"an old workbook \(.xls\), or one with a password"):
        read_rows(path)
    path.write_bytes(b"Nr,Text\n")
    with pytest.raises(DataError, match="is it a whole Excel file"):
        read_rows(path)
    whole = workbook(path, HEAD + FIRST).read_bytes()
    for end in (10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError, match="is it a whole Excel file"):
            read_rows(path)


TABLE = "Nr;Übersetzung;Referenz;Bewertung\n1;Größer als “früher”.;Ein Maß – genau.;4,5\n2;Es regnet.;Es goss.;3\n"


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("utf-8", None), ("utf-8-sig", None), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"),
     ("cp1252", "cp1252")],
)  # fmt: skip
def test_the_encodings_that_spreadsheets_write_are_read(
    tmp_path: Path, encoding: str, name: str | None
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(TABLE.encode(encoding))
    first = read_samples(path)[0]
    assert (first.sample.hypothesis, first.sample.references) == (
        "Größer als “früher”.",
        ("Ein Maß – genau.",),
    )
    assert first.human == {"overall": (4.5,)}
    assert unusual_encoding(path) == name


def test_utf_16_that_lacks_a_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(TABLE.encode("utf-16")[:-1])
    with pytest.raises(DataError, match=r"t\.csv, line 3: not UTF-16"):
        read_rows(path)


def test_other_bytes_are_damage_and_no_latin_letters(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"output,target\nthe cat\xff,a cat\nthe dog,a dog\n")
    with pytest.raises(DataError, match=r"t\.csv, line 2: not UTF-8 \(byte 0xff\); save the file as UTF-8"):
        read_rows(path)
