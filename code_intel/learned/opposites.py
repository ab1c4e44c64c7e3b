"""Actions that undo each other: 「カート追加」 is not 「カートから削除」, however close the vectors are.

Embedding models put opposite verbs on one object side by side; a small table of verb stems tells
them apart. It only ever lowers a score, and only when two texts name no action in common.
"""

import re
import unicodedata
from functools import lru_cache

ACTIONS = {
    "add": (
        "追加|登録|作成|生成|投稿|発行|加え|入れる|増や|増加|新規|付け|載せ|残す|有効|付与|生やす",
        "add create register insert issue post append put enable grant make generate",
    ),
    "remove": (
        "削除|取消|取り消|取り除|消す|消去|捨て|失効|退会|無効|キャンセル|破棄|廃止|除く|除去|外す|却下|解除|やめ|減ら",
        "delete remove cancel revoke clear discard purge disable drop reject unregister",
    ),
    "read": (
        "読み込み|読込|読み取|読み出|読む|取得|復号|復元",
        "load read fetch decrypt decode restore parse",
    ),
    "write": ("書き込み|書込|書き出|書く|保存|暗号化", "store save write encrypt encode dump"),
    "bring": (
        "取り込|取込|入荷|入庫|受信|受け取|インポート|アップロード|ログイン|サインイン|入場|入る",
        "import receive upload inbound ingest join login log+in sign+in signin",
    ),
    "send": (
        "出力|出荷|出庫|送信|送り出|送り返|エクスポート|ダウンロード|ログアウト|サインアウト|退場|抜ける",
        "export send download outbound leave logout log+out sign+out signout",
    ),
    "start": ("開始|起動|始め|開く|再開", "start begin open launch resume"),
    "stop": ("停止|終了|止め|閉じ|中断", "stop end close halt pause shutdown"),
    "forward": (
        "更新|移行|昇格|アップグレード|適用|確定",
        "upgrade advance promote apply commit",
    ),
    "back": (
        "巻き戻|戻す|ロールバック|降格|ダウングレード|取り消|押し戻",
        "undo rollback downgrade revert",
    ),
    "again": ("やり直す", "redo"),
    "listen": ("購読", "subscribe"),
    "tell": ("発行|配信", "publish emit"),
}
"""Action: Japanese stems, English words; `+` stands for a space."""

OPPOSITE = (
    ("add", "remove"), ("read", "write"), ("bring", "send"), ("start", "stop"), ("forward", "back"),
    ("forward", "remove"), ("again", "back"), ("listen", "tell"),
)  # fmt: skip


def _inflected(word: str) -> str:
    """Match an English verb in its forms: `remove`, `removes`, `removing`; not `add` in `address`."""
    root = re.escape(word.replace("+", " ").removesuffix("e"))
    return rf"\b{root}(?:e?[sdr]?|ing|ion|or)\b"


_PATTERNS = {
    action: re.compile("|".join([japanese, *map(_inflected, english.split())]))
    for action, (japanese, english) in ACTIONS.items()
}


@lru_cache(maxsize=4096)
def actions(text: str) -> frozenset[str]:
    """Return the actions a text names; code identifiers must have been split into words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return frozenset(name for name, pattern in _PATTERNS.items() if pattern.search(folded))


def opposed(one: str, other: str) -> bool:
    """Say whether two texts name opposite actions and share none."""
    here, there = actions(one), actions(other)
    return not here & there and any(
        (a in here and b in there) or (b in here and a in there) for a, b in OPPOSITE
    )
