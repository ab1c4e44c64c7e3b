from decimal import Decimal

from cart.cart import CartItem, ShoppingCart


def test_equal_products_are_merged() -> None:
    cart = ShoppingCart()
    cart.add_item(CartItem("A", 1, Decimal(2)))
    cart.add_item(CartItem("A", 2, Decimal(2)))
    assert cart.total() == Decimal(6)
