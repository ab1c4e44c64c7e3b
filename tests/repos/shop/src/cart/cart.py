"""The shopping cart."""

from dataclasses import dataclass, field
from decimal import Decimal


@dataclass
class CartItem:
    """A product and how many of it."""

    sku: str
    quantity: int
    unit_price: Decimal


@dataclass
class ShoppingCart:
    """What a customer is about to buy."""

    items: list[CartItem] = field(default_factory=list)

    def add_item(self, item: CartItem) -> None:
        """Put a product into the cart, merging equal products."""
        for present in self.items:
            if present.sku == item.sku:
                present.quantity += item.quantity
                return
        self.items.append(item)

    def remove_item(self, sku: str) -> None:
        """Take a product out of the cart."""
        self.items = [item for item in self.items if item.sku != sku]

    def total(self) -> Decimal:
        """Sum of all positions, tax included."""
        return sum((item.unit_price * item.quantity for item in self.items), Decimal(0))
