"""Order reports for accounting."""

import csv
from collections.abc import Iterable
from pathlib import Path


def export_orders(orders: Iterable[dict[str, object]], target: Path) -> int:
    """Write orders to a CSV file and return how many rows were written."""
    count = 0
    with target.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["order", "customer", "total", "date"])
        for order in orders:
            writer.writerow([order["id"], order["customer"], order["total"], order["date"]])
            count += 1
    return count
