"""A small project whose files have all that a store is asked for."""

AUTH = '''"""Log people in."""
import os
from src.users import find_user


class AuthService:
    """Checks passwords."""

    def login(self, name, password):
        """Let a person in with a password."""
        user = find_user(name)
        return user and user.password == password

    def logout(self, name):
        os.environ.pop(name, None)
'''
USERS = '''"""Find people."""


def find_user(name):
    """Return the person with a name, or None."""
    return _cached_users().get(name)


def _cached_users():
    return {}


class UserList:
    def login(self):
        return None
'''
CART = """export class ShoppingCart {
  private retryCount = 3;
  // カートに商品を追加する
  addToCart(itemId: string): void {
    this.items.push(itemId);
  }
}
"""
GUIDE = """# ログイン

パスワードでログインします。

## Retry

A request is tried again three times.
"""
TEST = """from src.auth import AuthService


def test_login_needs_a_password():
    assert not AuthService().login("a", "")
"""
SHOP = {
    "src/auth.py": AUTH,
    "src/users.py": USERS,
    "web/cart.ts": CART,
    "docs/ガイド.md": GUIDE,
    "tests/test_auth.py": TEST,
}

ODD_PATHS = {
    'a "quoted" file.py': "def quoted_one(): return 1\n",
    "back\\slash.py": "def slashed_one(): return 1\n",
    "new\nline.py": "def lined_one(): return 1\n",
    "100%_[x].py": "def percent_one(): return 1\n",
    "' or 1 == 1 --.py": "def injected_one(): return 1\n",
    "絵文字🛒.py": "def emoji_one(): return 1\n",
    "ﬁ/é/e\u0301.py": "def composed_one(): return 1\n",
}
