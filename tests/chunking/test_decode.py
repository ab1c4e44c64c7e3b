import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.chunking import decode

JAPANESE = "設定ファイルを読み込む。\r\nログイン処理\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp932", "euc-jp"])
def test_japanese_text_is_decoded_with_its_line_ends(encoding: str) -> None:
    assert decode(JAPANESE.encode(encoding)) == JAPANESE


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-32-be"])
def test_big_endian_text_needs_a_byte_order_mark(encoding: str) -> None:
    mark = codecs.BOM_UTF16_BE if "16" in encoding else codecs.BOM_UTF32_BE
    assert decode(mark + JAPANESE.encode(encoding)) == JAPANESE
    assert decode("\N{GRINNING FACE}".encode("utf-32-be")) is None


WESTERN = [
    "déjà vu à la carte, garçon été",
    "Grüße aus Köln, schöne Straße, größer",
    "# lê a configuração do usuário e não falha\r\n",
    "// ¿Cuál es el año? — el niño cogió “ésta”\n",
    "/* läser in inställningar från en fil: åäö */\n",
    "int größe = 0; // Länge in µm, Preis in €\n",
    "print('naïve façade')  # perché è così\n",
]


@pytest.mark.parametrize("text", WESTERN)
def test_western_text_is_decoded(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["abc", f"# {JAPANESE}x = 1\n", WESTERN[0]])
def test_utf_16_needs_no_byte_order_mark(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("encoding", ["cp932", "euc-jp"])
@pytest.mark.parametrize(
    "text",
    ["int x; // 設定\n", "// ﾃﾞｰﾀを読む処理\n" * 3, "# 表の幅を計算する。\nx = '値'\n"],
)
def test_comments_in_japanese_are_decoded(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x00\x00",
        b"\x89PNG\r\n\x1a\n\x00\x00",
        b"text\0text",
        "привет, мир; файл настроек".encode("cp1251"),
        "accentué\x01".encode("latin-1"),
        codecs.BOM_UTF16_LE + b"a",
        bytes(range(128, 256)),
    ],
)
def test_bytes_in_no_known_encoding_are_not_decoded(data: bytes) -> None:
    assert decode(data) is None


def test_a_late_nul_does_not_make_a_text_binary() -> None:
    text = "a" * 9000 + "\0b"
    assert decode(text.encode()) == text


def test_empty_bytes_are_an_empty_text() -> None:
    assert decode(b"") == ""


@given(st.text().filter(lambda text: "\0" not in text and not text.startswith("\ufeff")))
def test_utf_8_is_decoded_unchanged(text: str) -> None:
    assert decode(text.encode()) == text


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    assert isinstance(decode(data), str | None)
