"""A day in the demo shop: put the jobs for the orders of its customers."""

from __future__ import annotations

from typing import Any

from headrace.demo import ShopDay, shop

CUSTOMERS = ("acme", "babbage", "curie", "darwin", "euler", "faraday", "gauss", "hopper")
# The maximum number of invoices of one customer that run at the same time.
AT_ONCE = 2
# One customer places this share of all orders.
FIRST_CUSTOMER = 0.22
EXPRESS = 0.1
LATER = (4, 6)
GROUP = "invoices of the day"


# The arguments of the task `charge`.
ShopOrder = dict[str, Any]


def put_day(jobs: int) -> ShopDay:
    """Put this many jobs: charges, invoices, mail, reminders, pictures and a report."""
    limit_invoices()
    orders = [make_order(number) for number in range(1, jobs // 4 + 1)]
    charged = charge(orders)
    customers = write_invoices(orders, charged)
    put_report(len(orders))
    mails, reminders = jobs // 4, jobs // 20
    send_mails(mails, reminders)
    pictures = jobs - 2 * len(orders) - mails - reminders - 1
    shop.resize.put_many({"picture": number, "width": 640} for number in range(pictures))
    put = {
        "orders": len(orders),
        "invoices": len(orders),
        "mail": mails + reminders,
        "pictures": pictures,
        "office": 1,
    }
    return ShopDay(put, customers)


def limit_invoices() -> None:
    """Let customers take turns in the queue of invoices, and limit each customer's concurrency."""
    shop.app.client.queue("invoices").configure(key_concurrency=AT_ONCE, fair=True)


def make_order(number: int) -> ShopOrder:
    """Return the order with this number."""
    others = CUSTOMERS[1:]
    is_first = shop.chance("customer", number) < FIRST_CUSTOMER
    return {
        "order": number,
        "customer": CUSTOMERS[0] if is_first else others[number % len(others)],
        "cents": 500 + int(20_000 * shop.chance("cents", number)),
    }


def charge(orders: list[ShopOrder]) -> dict[int, str]:
    """Put a job to charge each order, give express orders priority, and return the job ids."""
    found: dict[int, str] = {}
    express = shop.charge.options(priority=-1, tags=["express"])
    for put_many, is_express in ((shop.charge.put_many, False), (express.put_many, True)):
        some = [one for one in orders if is_express_order(one) is is_express]
        found |= zip((one["order"] for one in some), put_many(some), strict=True)
    return found


def is_express_order(order: ShopOrder) -> bool:
    """Return whether the customer pays for express delivery."""
    return shop.chance("express", order["order"]) < EXPRESS


def write_invoices(orders: list[ShopOrder], charged: dict[int, str]) -> dict[str, str]:
    """Put an invoice job for each order; the job is cancelled if the charge fails."""
    return {
        shop.invoice.options(
            depends_on=[charged[one["order"]]], if_dependency_fails="cancel", group=GROUP
        ).put(one["order"], one["customer"]): one["customer"]
        for one in orders
    }


def put_report(orders: int) -> None:
    """Put a job that runs after all invoices have finished, even if some invoices failed."""
    close = shop.close_day.data(orders=orders)
    group = shop.app.client.group(GROUP)
    group.then("office", close, if_dependency_fails="run", retries=3)


def send_mails(mails: int, reminders: int) -> None:
    """Put mail that is due now, and reminders that are due in a few seconds."""
    shop.send.put_many(
        {"to": f"user-{number}@example.org", "about": "your order"} for number in range(mails)
    )
    for first, seconds in enumerate(LATER):
        shop.send.after(seconds).put_many(
            {"to": f"user-{number}@example.org", "about": "did you forget something?"}
            for number in range(first, reminders, len(LATER))
        )
