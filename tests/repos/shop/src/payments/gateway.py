"""Credit card payments through the external provider."""

import json
import urllib.request
from decimal import Decimal


class PaymentDeclinedError(Exception):
    """Raised when the provider refuses the charge."""


class PaymentGateway:
    """Talks to the payment provider."""

    def __init__(self, endpoint: str, api_key: str) -> None:
        self.endpoint = endpoint
        self.api_key = api_key

    def charge(self, card_token: str, amount: Decimal) -> str:
        """Charge a credit card and return the provider's transaction id."""
        return self._post("/charges", {"card": card_token, "amount": str(amount)})

    def refund(self, transaction_id: str, amount: Decimal) -> str:
        """Give money back for an earlier charge."""
        return self._post("/refunds", {"transaction": transaction_id, "amount": str(amount)})

    def _post(self, path: str, payload: dict[str, str]) -> str:
        request = urllib.request.Request(
            self.endpoint + path,
            json.dumps(payload).encode(),
            {"Authorization": f"Bearer {self.api_key}"},
        )
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        if answer["status"] != "ok":
            raise PaymentDeclinedError(answer["reason"])
        return str(answer["id"])
