"""Recognize sentences that deny the link between a symbol and the request (decision 0054).

The patterns are data. They recognize statements about the link ("unrelated to", "not the place")
and not statements about what code fails to do ("does not handle an empty list"), because that is
how defects are described. `benchmarks/denials.py` counts what they miss and what they refuse in
error.
"""

import re

from code_intel.session.wording import fold

_NOT = r"(?:\bnot|n't|\bnever|\bnor|\bneither|\bhardly)"
_PLACE = r"(?:place|function|method|class|symbol|code|cause|reason|part|one|spot|right|file|module)"

NEGATIONS = (
    r"\b(?:nothing|anything|little|much)\b(?: at all| whatsoever)? to do with\b",
    r"\bno (?:relation|relationship|connection|link|bearing|relevance|influence)\b",
    r"\bno (?:part|role) (?:of|in)\b|\bnot? play (?:a|any) (?:part|role)\b",
    (
        rf"{_NOT} (?:really |directly |at all |in any way )?"
        r"(?:about|related?|relevant|connected|concern|concerned|involve[ds]?|responsible)\b"
    ),
    rf"{_NOT} called by (?:n?or )\w+ (?:to|with)\b",
    r"\b(?:unrelated|irrelevant|orthogonal|unconnected) (?:to|for|with)\b",
    (
        r"\b(?:is|are|was|were|be|it's|seems|looks|quite|entirely|completely)"
        r" (?:unrelated|irrelevant|orthogonal|unconnected|disconnected)\b"
    ),
    r"^(?:unrelated|irrelevant|not relevant|beside the point)\b",
    r"\b(?:independent of|far removed from|beside the point|outside the scope|out of scope)\b",
    r"\b(?:different|separate|another) (?:matter|concern|topic|story|issue)\b",
    rf"{_NOT} (?:be )?(?:where|what|(?:the|a) {_PLACE}|part of)\b",
    (
        r"^(?:this|it|that|these|the (?:function|method|class|symbol|code|helper|module))"
        r"(?: \w+)? (?:is|are)(?: not|n't) (?:the|a|an)\b"
    ),
    r"\bcannot be the (?:cause|reason|place)\b",
    r"\b(?:bug|problem|cause|change|place|fix|feature|behaviou?r) is(?: not|n't) here\b",
    r"\bthe wrong (?:place|symbol|function|class|method|file to)\b",
    (
        r"\b(?:is|are|lives?|belongs?|sits?|happens?|handled|done|implemented|located|found)"
        r" (?:elsewhere|somewhere else)\b"
    ),
    r"\b(?:random|arbitrary) (?:symbol|function|method|class|file|choice)\b",
    (
        r"\b(?:doubt|(?:not|n't) (?:think|believe)|no reason to (?:think|believe))\b"
        r".*\b(?:this|it|symbol|function|matters?)\b"
    ),
    r"\b(?:would not|wouldn't|won't|will not) (?:fix|help|solve)\b",
    r"\b(?:of no use|(?:stays?|remains?) (?:untouched|unchanged) by)\b",
    # Japanese. 関係なく ("regardless of") and 無関係な属性 ("unrelated attributes") are no denials.
    r"(?:とは?|に|には)無関係|無関係(?:です|だ|である|と思|の(?:よう|はず)|。|\.|$)",
    (
        r"(?:関係|関連性?|関わり|かかわり|つながり|繋がり|縁|接点|結び付き)"
        r"(?:が|は|も|の)?(?:一切|全く|まったく|何も|ほとんど)?(?:な(?:い|か|さ)|あり?ませ|見当たら|薄)"
    ),
    r"(?:関係|関連|関与|該当|寄与|直結)(?:は|も)?し(?:て(?:は)?(?:い|お)?)?(?:ら?な|ませ|りませ)",
    (
        r"(?:関わ|かかわ|携わ|結び付|結びつ|つなが|繋が)(?:ら|か|って(?:い)?|いて(?:い)?)"
        r"(?:な|ませ|りませ)"
    ),
    r"担当し(?:て(?:い)?)?(?:な|ませ)",
    r"とは(?:全く|まったく|完全に)?(?:別(?!に)|異な|独立|切り離|無縁)",
    r"的外れ|見当違い|お門違い|(?:依頼|要求|変更|修正|本件|今回)の?(?:対象外|範囲外)",
    r"(?:要求|依頼|変更|修正)に(?:は)?不要",
    r"(?:変更|修正|編集)(?:する|の)?必要(?:が|は)?(?:な(?:い|く)|あり?ませ)",
    r"(?:変更し|修正し|直し)ても.{0,12}(?:解決し|意味が|直ら|変わら)(?:な|ませ|あり)",
    r"(?:役に(?:は|も)?立た|根拠に(?:は)?なり?(?:ら)?)(?:な|ませ)",
    r"(?:別|ほか|他)の(?:場所|ファイル|箇所|所|モジュール|関数)に(?:は)?あ(?:る|り)",
    r"(?:ここ|そこ|これ)(?:に|で)?(?:は)?(?:な(?:い|かった)|あり?ません)",
    (
        r"(?:場所|箇所|コード|関数|処理|クラス|メソッド|機能|話|原因|一部|対象)"
        r"(?:では|じゃ)(?:な(?:い|かった)|あり?ません)"
    ),
    (
        r"^(?:この|これ|ここ|その|それ).*(?:では|じゃ)(?:な(?:い|かった)|あり?ません)"
        r"(?:です)?(?:。|\.|!|$)"
    ),
    r"原因(?:だ|である)?と(?:は|も)?(?:考えられ|思え|思われ|言え)(?:な|ませ)",
    r"(?:適当|無作為|でたらめ)に選",
)
"""Patterns of the folded sentence."""


def denial(sentence: str) -> str:
    """Return the words with which a sentence denies its own claim, or the empty string.

    >>> denial("create_logger has nothing to do with the session cookie")
    'nothing to do with'
    >>> denial("login does not check for an empty password")
    ''
    """
    folded = fold(sentence)
    return next((found.group() for each in NEGATIONS if (found := re.search(each, folded))), "")
