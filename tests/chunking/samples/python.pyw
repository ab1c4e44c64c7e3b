"""Tokens and sessions. 詳細は別紙。"""

import os.path
from . import near
from .store.base import Base as B

LIMIT = 3
cache: dict[str, int] = {}


# Says who it is.
@dataclass(frozen=True)
class Service(B):
    """Answers for users. 二文目。"""

    @overload
    def login(self, user: str) -> bool: ...

    @overload
    def login(self, user: int) -> bool: ...

    def login(self, user):
        def check():
            return True

        return check()

    class 設定:
        async def load(self): ...


async def main(): ...
