"""The prose check finds hard sentences in Markdown, Python and Lua, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import prose

HARD = {
    "what-clause": [
        "What is lost is lost as whole steps.",
        "The books are compared with what is there.",
        "It says what came of each job.",
    ],
    "who or which as subject": [
        "Who dies in between leaves files.",
        "Whose job it is, for limits.",
    ],
    "indefinite person": ["Nobody asks for it.", "It outlives whoever started it."],
    "said, told, heard": [
        "The server is told.",
        "It hears every change.",
        "Unless told, it writes.",
    ],
    "as it is, for ever, by itself": [
        "None waits for ever.",
        "It stays as it is.",
        "It never was.",
    ],
    "inverted opening": ["Where there is no terminal it prints.", "Of each size, a few are kept."],
    "so many": ["Pass over so many.", "Wait for so much time."],
    "beside": ["Nothing runs beside the job."],
    "stands, lies": ["The time stands in the field.", "A large payload lies apart."],
    "of whom, of which": ["Events of which there are none.", "It records by whom."],
    "private word": ["The parcel of a task.", "Rivals are slower."],
}
PLAIN = [
    "Return the jobs of a queue in one state.",
    "What does a lease guarantee?",
    "Where is the data?",
    "The job runs again if the worker dies.",
    "The number of deliveries so far, as many as there are.",
    "A server which has no data is empty.",
    "Of course it runs.",
]


def found_in(tmp_path: Path, name: str, text: str) -> list[tuple[int, str]]:
    path = tmp_path / name
    path.write_text(text)
    return [
        (line, pattern)
        for paragraph in prose.paragraphs(path)
        for line, pattern, _ in paragraph.findings()
    ]


def test_every_pattern_has_an_example() -> None:
    assert set(HARD) == set(prose.PATTERNS)


@pytest.mark.parametrize(
    ("pattern", "sentence"), [(name, text) for name, texts in HARD.items() for text in texts]
)
def test_hard_sentences_are_found(tmp_path: Path, pattern: str, sentence: str) -> None:
    assert (1, pattern) in found_in(tmp_path, "page.md", sentence)


@pytest.mark.parametrize("sentence", PLAIN)
def test_plain_sentences_are_not_found(tmp_path: Path, sentence: str) -> None:
    assert found_in(tmp_path, "page.md", sentence) == []


def test_code_in_markdown_is_skipped(tmp_path: Path) -> None:
    page = "Run `whoever` [here](nobody.md).\n\n```python\n# nobody\n```\nNobody runs.\n"

    assert found_in(tmp_path, "page.md", page) == [(6, "indefinite person")]


def test_sentences_that_span_lines_are_found(tmp_path: Path) -> None:
    page = "The job waits for\never in the queue.\n"

    assert found_in(tmp_path, "page.md", page) == [(1, "as it is, for ever, by itself")]


def test_docstrings_comments_and_messages_of_python_are_read(tmp_path: Path) -> None:
    module = """
def f(nobody):
    '''Ask nobody.

        nobody()  # an example
    '''
    x = "nobody"  # nobody again
    raise ValueError(f"{x} was refused by somebody here")
"""

    assert sorted(found_in(tmp_path, "module.py", module)) == [
        (3, "indefinite person"),
        (7, "indefinite person"),
        (8, "indefinite person"),
    ]


def test_comments_of_lua_are_read(tmp_path: Path) -> None:
    script = "-- wait: what nobody wants.\n-- uses   nobody\nlocal nobody = 1 -- for nobody\n"

    assert found_in(tmp_path, "wait.lua", script) == [
        (1, "indefinite person"),
        (3, "indefinite person"),
    ]


def test_listed_uses_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("Nobody runs.\n\nNobody sleeps.\n")

    findings, lines = prose.check([page], prose.allowed("# a comment\n*.md: Nobody runs\n"))

    assert [str(finding) for finding in findings] == [
        "page.md:3: [indefinite person] Nobody sleeps."
    ]
    assert lines == {"docs and src": 2}
