"""Delivery fees."""

from decimal import Decimal

ZONES = {"domestic": Decimal("5.00"), "abroad": Decimal("18.00")}
FREE_FROM = Decimal("80.00")


def shipping_fee(total: Decimal, zone: str) -> Decimal:
    """Return what delivery costs for an order of this value."""
    return Decimal(0) if total >= FREE_FROM else ZONES[zone]
