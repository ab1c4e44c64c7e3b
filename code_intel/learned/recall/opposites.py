"""Recognize opposites: 「カート追加」 is not 「カートから削除」, even if the vectors are close.

Embedding models put opposite words about the same object close together. Two small tables, of
opposite actions and of the different sides of a thing, separate them. They only lower a score, and
only if two texts have no action, or no side, in common.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache

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
"""Japanese stems and English words by action; `+` stands for a space."""

OPPOSITE = (
    ("add", "remove"), ("read", "write"), ("bring", "send"), ("start", "stop"), ("forward", "back"),
    ("forward", "remove"), ("again", "back"), ("listen", "tell"),
)  # fmt: skip

SIDES = (
    (
        ("成功|正常", "success succeed successful successfully"),
        ("失敗|異常|エラー", "failure fail failed error"),
    ),
    (
        ("許可|認める|受け入れ", "allow permit accept whitelist allowlist"),
        (
            "禁止|拒否|却下|遮断|ブロック",
            "deny denied forbid forbidden reject block ban blacklist denylist blocklist prohibit",
        ),
    ),
    (("承認|可決", "approve approval"), ("却下|否認|差し戻|否決", "reject rejection disapprove")),
    (("(?<!不)合格", "pass"), ("不合格|落第", "fail")),
    (("国内", "domestic national"), ("海外|国外|国際", "overseas international foreign abroad")),
    (
        ("遅延|後回し", "lazy lazily deferred delayed"),
        ("即時|先読み|即座", "eager eagerly immediate immediately"),
    ),
    (
        ("バックグラウンド|背景|裏側|裏で", "background"),
        ("フォアグラウンド|前景|前面|手前", "foreground"),
    ),
    (
        ("差分|増分|部分|一部", "incremental incrementally partial partially delta"),
        (
            "全体|全件|全部|全量|全面|全更新|全同期|(?<![安完健])全再|フル|完全",
            "full fully complete",
        ),
    ),
    (
        ("有効(?!期)", "valid enabled active activate"),
        ("無効|期限切|失効|不正", "invalid expired disabled inactive deactivate revoked"),
    ),
    (
        ("(?<!非)同期", "sync synchronous synchronously"),
        ("非同期", "async asynchronous asynchronously"),
    ),
    (("(?<!非)公開(?!鍵)", "public publicly"), ("非公開|限定公開", "private privately internal")),
    (("公開鍵", "public+key"), ("秘密鍵|共通鍵", "private+key secret+key")),
    (
        ("一時(?!停)|仮(?!想)|暫定|揮発", "temporary temporarily transient ephemeral volatile"),
        ("恒久|永続|永久|常設|本登録|本予約|正式", "permanent permanently persistent durable"),
    ),
    (
        ("送信|送り手|発信|差出", "sender send outgoing"),
        ("受信|受け手|受け側|着信|受取", "receiver receive recipient incoming"),
    ),
    (("クライアント|フロントエンド", "client frontend"), ("サーバ|バックエンド", "server backend")),
    (
        ("内部|社内|内側|院内|学内", "internal inner inside"),
        ("外部|社外|外側|院外|学外", "external outer outside"),
    ),
    (("読み(?:取|込|出)|読込|閲覧", "read reader"), ("書き(?:込|出|換)|書込", "write writer")),
    (
        ("最小|最低|下限", "minimum min lowest smallest lower+bound"),
        ("最大|最高|上限", "maximum max highest largest upper+bound"),
    ),
    (("最短", "shortest"), ("最長", "longest")),
    (("最初|先頭|初回|冒頭|初日", "first initial"), ("最後|末尾|最終|最終日", "last final")),
    (
        ("新規|新しい|最新|新着", "new newest latest"),
        ("既存|古い|旧|最古", "existing old oldest legacy"),
    ),
    (("昇順", "ascending"), ("降順", "descending")),
    (
        (
            "増加|増や|拡大|値上げ|引き上げ|加算|上昇",
            "increase grow enlarge raise increment upscale",
        ),
        (
            "減少|減ら|縮小|値下げ|引き下げ|減算|下降",
            "decrease shrink reduce lower decrement downscale",
        ),
    ),
    (
        ("以前|事前|直前|前日|(?<![名午手建])前(?=の(?!版)|に|処理|画面|確認|通知)", "before pre"),
        ("以後|事後|直後|後日|(?<![午])後(?=の|に|処理|画面|確認|通知)", "after post"),
    ),
    (("手動|手作業|手入力", "manual manually"), ("自動|オート", "automatic automatically auto")),
    (
        ("単一|単体|個別|単独|一件|1件", "single individual"),
        ("複数|一括|まとめて|全員", "multiple bulk batch"),
    ),
    (("オンライン", "online"), ("オフライン", "offline")),
    (("ローカル|手元", "local locally"), ("リモート|遠隔", "remote remotely")),
    (("入口|入り口", "entry entrance"), ("出口", "exit")),
    (
        ("入力|入金|入庫|入荷|入室", "input inbound deposit"),
        ("出力|出金|出庫|出荷|退室", "output outbound withdrawal"),
    ),
    (
        ("収入|売上|売掛", "income revenue sales receivable"),
        ("支出|仕入|買掛|費用", "expense purchase payable cost"),
    ),
    (
        ("個人", "personal individual consumer"),
        ("法人|企業|団体", "corporate business enterprise company"),
    ),
    (
        ("購入者|買い手|買主|購入側", "buyer purchaser"),
        ("出品者|売り手|売主|販売者|販売側", "seller vendor merchant"),
        ("管理者|運営者|運営側", "admin administrator moderator operator"),
    ),
    (
        ("ゲスト|非会員|匿名", "guest anonymous visitor"),
        ("(?<!非)会員|登録済", "member registered"),
    ),
    (
        ("送信元|転送元|移行元|参照元|コピー元|呼び出し元|接続元|変換元", "source origin caller"),
        (
            "送信先|転送先|移行先|参照先|コピー先|呼び出し先|接続先|変換先",
            "destination target callee",
        ),
    ),
    (("親", "parent"), ("(?<![電椅帽様調菓粒量因分])子(?![供育])", "child children")),
    (("上位|上流|上り", "upstream upper uplink"), ("下位|下流|下り", "downstream downlink")),
    (("リクエスト|要求", "request"), ("レスポンス|応答", "response")),
    (("符号化|エンコード", "encode encoder"), ("復号化|デコード", "decode decoder")),
    (("暗号化", "encrypt encryption"), ("復号", "decrypt decryption")),
    (
        ("圧縮", "compress compression zip"),
        ("展開|解凍|伸長", "decompress decompression unzip uncompress inflate"),
    ),
    (("ロック(?!を?の?解除|アウト)|施錠", "lock"), ("ロックの?を?解除|アンロック|解錠", "unlock")),
    (("(?<!非)表示(?!しない)", "show visible"), ("非表示|隠す|隠し", "hide hidden invisible")),
    (
        ("接続(?![元先])|(?<![a-z])つなぐ", "connect connection"),
        ("切断|切り離", "disconnect disconnection"),
    ),
    (("横|水平", "horizontal landscape"), ("縦|垂直", "vertical portrait")),
    (("左", "left"), ("右", "right")),
    (("明るい|ライト(?=モード|テーマ)", "light"), ("暗い|ダーク", "dark")),
    (
        ("日次|毎日|日別", "daily"),
        ("週次|毎週|週別", "weekly"),
        ("月次|毎月|月別|月額|月間", "monthly"),
        ("年次|毎年|年別|年額|年間", "yearly annual annually"),
    ),
    (
        ("本番", "production"),
        ("開発環境|検証環境|ステージング|テスト環境", "staging development sandbox"),
    ),
    (("静的", "static statically"), ("動的", "dynamic dynamically")),
    (("厳密|厳格", "strict strictly"), ("寛容|緩い|あいまい|曖昧", "lenient loose fuzzy")),
    (
        ("主系|プライマリ|正系", "primary master"),
        ("副系|セカンダリ|レプリカ|予備", "secondary replica standby"),
    ),
    (("有料|課金", "paid"), ("無料|無償", "free")),
    (("必須", "required mandatory"), ("任意|省略可", "optional")),
    (("既読", "read"), ("未読", "unread")),
    (
        ("完了|済み", "completed finished done"),
        ("途中|未完|進行中|未処理", "pending unfinished ongoing"),
    ),
    (
        ("登録(?!解除)|入会|加入", "register registration enroll"),
        ("登録解除|退会|脱退|解約", "unregister deregister unenroll"),
    ),
)
"""Rows of sides, each with a Japanese pattern and English words.

A thing with one side of a row must not match the thing with another side.
"""


_LOOKAROUND = re.compile(r"\(\?<?[=!][^()]*\)")
_GROUP = re.compile(r"\(\?:[^()]*\)|.\?")
"""A part of a Japanese pattern that differs between the words, or may be missing."""


def _root(word: str) -> str:
    """Return what the inflected forms of an English word begin with."""
    return word.replace("+", " ").removesuffix("e")


def _inflected(word: str) -> str:
    """Return a pattern for the inflected forms of an English word, such as `removing`."""
    return rf"\b{re.escape(_root(word))}(?:e?[sdr]?|ing|ion|or)\b"


@cache
def _beginnings(japanese: str, english: str) -> tuple[str, ...]:
    """Return texts of which every match of `_pattern` contains one."""
    plain, before = japanese, ""
    while plain != before:  # lookarounds may contain others
        plain, before = _LOOKAROUND.sub("", plain), plain
    words = _GROUP.sub("(", plain).split("|")
    return (*(word.partition("(")[0] for word in words), *map(_root, english.split()))


def _is_named(plain: str, side: tuple[str, str]) -> bool:
    """Return whether a text has one of the words of a side or an action."""
    may_match = any(beginning in plain for beginning in _beginnings(*side))
    return may_match and _pattern(*side).search(plain) is not None


@cache
def _pattern(japanese: str, english: str) -> re.Pattern[str]:
    """Compile a pattern when a text may match it; compiling all of them takes 0.1 s."""
    return re.compile("|".join([japanese, *map(_inflected, english.split())]))


@lru_cache(maxsize=1 << 14)
def actions(text: str) -> frozenset[str]:
    """Return the actions a text names; code identifiers must have been split into words."""
    plain = folded(text)
    return frozenset(name for name, words in ACTIONS.items() if _is_named(plain, words))


@lru_cache(maxsize=4096)
def sides(text: str) -> Mapping[int, frozenset[int]]:
    """Return the sides a text names, by row of `SIDES`; leave out rows without a named side."""
    plain = folded(text)
    named = {row: _named(plain, row) for row in range(len(SIDES))}
    return {row: which for row, which in named.items() if which}


def opposed(one: str, other: str) -> bool:
    """Return whether two texts name opposite actions and share none."""
    here = actions(one)
    if not here:
        return False
    there = actions(other)
    return not here & there and any(
        (a in here and b in there) or (b in here and a in there) for a, b in OPPOSITE
    )


def contrasted(one: str, other: str) -> bool:
    """Return whether two texts name different sides in a row, and no common side in that row.

    Only the rows that `one` names are searched in `other`, so pass the longer text as `other`.
    """
    rows = sides(one)
    if not rows:
        return False
    plain = folded(other)
    return any((there := _named(plain, row)) and not here & there for row, here in rows.items())


def _named(plain: str, row: int) -> frozenset[int]:
    return frozenset(at for at, side in enumerate(SIDES[row]) if _is_named(plain, side))


def folded(text: str) -> str:
    """Return a text in NFKC and case-folded."""
    return unicodedata.normalize("NFKC", text).casefold()
