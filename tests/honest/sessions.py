"""Ten typical sessions: the words of a user, and how an agent understands them."""

from typing import NamedTuple


class Honest(NamedTuple):
    """One session.

    Attributes:
        id: What it is about.
        intent: As the agent reads the query.
        query: The user's words.
        slots: Of the query, each in its own words.
        project: Where it happens: `shop`, `empty`, or `unread`, a language without a grammar.
        means: The symbol or word of the code that the agent takes the feature for, once an answer
            shows it.
        does: What the agent says of it.
        supposes: What it supposes where that must be verified.
        patterns: Conventions it keeps.
        writes: The file it changes; empty when it only reads.
        calls: Most calls to READY, `start_session` among them.
        route: What leads there.
        again: The phase of the next session with the same words, once it has asked the map.
    """

    id: str
    intent: str
    query: str
    slots: dict[str, str]
    means: str
    does: str
    supposes: str = ""
    patterns: tuple[str, ...] = ()
    project: str = "shop"
    writes: str = ""
    calls: int = 8
    route: str = "understanding"
    again: str = ""

    @property
    def learns(self) -> str:
        """The symbol that the map returns afterwards.

        In a new project, the symbol that is written first.
        """
        return "todo_list" if self.project == "empty" else self.means


SESSIONS = (
    Honest(
        "modify-english",
        "MODIFY",
        "login accepts an empty password when the form is sent",
        {
            "target_feature": "login",
            "observed_issue": "accepts an empty password",
            "trigger_condition": "when the form is sent",
        },
        "AuthService.login",
        "checks e-mail and password and opens a session, an empty password too",
        patterns=("errors are exceptions of the module",),
        writes="src/auth/service.py",
        again="READY",
    ),
    Honest(
        "modify-japanese",
        "MODIFY",
        "カートの合計金額が数量を変えたときに間違っている",
        {
            "target_feature": "カートの合計金額",
            "trigger_condition": "数量を変えたとき",
            "observed_issue": "間違っている",
        },
        "ShoppingCart.total",
        "カートの合計金額を数量から計算する",
        patterns=("amounts are Decimal",),
        writes="src/cart/cart.py",
        again="READY",
    ),
    Honest(
        "implement-english",
        "IMPLEMENT",
        "shipping fee: add a weight surcharge for heavy orders",
        {
            "target_feature": "shipping fee",
            "desired_action": "add a weight surcharge",
            "trigger_condition": "for heavy orders",
        },
        "shipping_fee",
        "returns what delivery costs by zone, and knows no weight surcharge",
        "shipping_fee is the only place where delivery costs are computed",
        ("amounts are Decimal", "constants above the functions"),
        writes="src/cart/shipping.py",
        calls=12,
        route="verification",
        again="VERIFICATION",
    ),
    Honest(
        "implement-japanese",
        "IMPLEMENT",
        "会員登録で歓迎メールの件名が固定なので変えられるようにしてほしい",
        {
            "target_feature": "会員登録",
            "observed_issue": "歓迎メールの件名が固定",
            "desired_action": "変えられるようにしてほしい",
        },
        "RegistrationService.register",
        "会員登録をして、歓迎メールを固定の件名で送る",
        patterns=("services get what they need by their constructor",),
        writes="src/users/registration.py",
        again="READY",
    ),
    Honest(
        "delete-english",
        "DELETE",
        "theme switching has been unused since the redesign, remove it",
        {
            "target_feature": "theme switching",
            "observed_issue": "has been unused",
            "trigger_condition": "since the redesign",
            "desired_action": "remove it",
        },
        "toggleTheme",
        "switches between the light and the dark theme; no page uses it",
        patterns=("one function a file",),
        writes="web/src/theme.js",
        again="EXPLORATION",
    ),
    Honest(
        "investigate-japanese",
        "INVESTIGATE",
        "在庫の引き当てが足りないときの動きを調べて",
        {"target_feature": "在庫の引き当て", "trigger_condition": "足りないとき"},
        "StockKeeper.Reserve",
        "在庫が足りないときは ErrOutOfStock を返す",
    ),
    Honest(
        "question-japanese",
        "QUESTION",
        "返金はどうやって行われますか",
        {"target_feature": "返金"},
        "PaymentGateway.refund",
        "決済会社に返金を依頼する",
        calls=1,
        route="question",
    ),
    Honest(
        "explore-english",
        "EXPLORE",
        "how are accounts created and which mail is sent then",
        {"target_feature": "accounts created"},
        "RegistrationService.register",
        "creates the account and sends the welcome mail",
    ),
    Honest(
        "greenfield-english",
        "IMPLEMENT",
        "write a todo list that keeps its items in a file",
        {"target_feature": "todo list", "desired_action": "keeps its items in a file"},
        "todo",
        "nothing exists yet",
        "no todo list exists yet",
        ("plain functions",),
        project="empty",
        writes="todo.py",
        calls=12,
        route="verification",
        again="VERIFICATION",
    ),
    Honest(
        "unread-japanese",
        "MODIFY",
        "消費税の計算で端数があるときに一円ずれる",
        {
            "target_feature": "消費税の計算",
            "trigger_condition": "端数があるとき",
            "observed_issue": "一円ずれる",
        },
        "CALC-TAX",
        "消費税の計算をする段落で、端数を切り捨てている",
        "消費税の計算は CALC-TAX が行い、端数を切り捨てている",
        ("paragraphs are named in capitals",),
        project="unread",
        writes="src/tax.cbl",
        calls=12,
        route="verification",
        again="EXPLORATION",
    ),
)
