"""A day in the shop: what its customers order, as jobs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from headrace.demo import shop

CUSTOMERS = ("acme", "babbage", "curie", "darwin", "euler", "faraday", "gauss", "hopper")
# Of each customer, so many invoices at once.
AT_ONCE = 2
# One customer orders more than the others, as one always does.
OF_THE_FIRST = 0.22
EXPRESS = 0.1
LATER = (4, 6)
GROUP = "invoices of the day"


@dataclass(frozen=True, slots=True)
class Order:
    """What a customer ordered."""

    number: int
    customer: str
    cents: int
    express: bool


@dataclass(frozen=True, slots=True)
class Day:
    """What was put: how many jobs in each queue, and which invoice is whose."""

    jobs: dict[str, int]
    customers: dict[str, str]
    report: str


def put_day(jobs: int) -> Day:
    """Puts about so many jobs: orders and their invoices, mail, reminders for later, pictures."""
    limit_invoices()
    orders = [order(number) for number in range(1, jobs // 4 + 1)]
    charged = charge(orders)
    customers = write_invoices(orders, charged)
    report = when_all_invoices_are_written(len(orders))
    mails, reminders = jobs // 4, jobs // 20
    send_mails(mails, reminders)
    pictures = jobs - 2 * len(orders) - mails - reminders - 1
    shop.resize.put_many({"picture": number, "width": 640} for number in range(pictures))
    put = Counter(
        orders=len(orders),
        invoices=len(orders),
        mail=mails + reminders,
        pictures=pictures,
        office=1,
    )
    return Day(dict(put), customers, report)


def limit_invoices() -> None:
    """Customers take turns, and none has more than its share of the printers."""
    shop.app.client.queue("invoices").configure(key_concurrency=AT_ONCE, fair=True)


def order(number: int) -> Order:
    """The order of this number."""
    others = CUSTOMERS[1:]
    is_first = shop.chance("customer", number) < OF_THE_FIRST
    return Order(
        number=number,
        customer=CUSTOMERS[0] if is_first else others[number % len(others)],
        cents=500 + int(20_000 * shop.chance("cents", number)),
        express=shop.chance("express", number) < EXPRESS,
    )


def charge(orders: list[Order]) -> dict[int, str]:
    """Cards are charged; those of express orders before all others."""
    express = shop.charge.options(priority=-1, tags=["express"])
    found: dict[int, str] = {}
    for some, put_many in (
        ([one for one in orders if not one.express], shop.charge.put_many),
        ([one for one in orders if one.express], express.put_many),
    ):
        ids = put_many(
            {"order": one.number, "customer": one.customer, "cents": one.cents} for one in some
        )
        found |= {one.number: job_id for one, job_id in zip(some, ids, strict=True)}
    return found


def write_invoices(orders: list[Order], charged: dict[int, str]) -> dict[str, str]:
    """Each invoice waits until its order is charged, and is cancelled if that fails."""
    return {
        shop.invoice.options(
            depends_on=[charged[one.number]], if_dependency_fails="cancel", group=GROUP
        ).put(one.number, one.customer): one.customer
        for one in orders
    }


def when_all_invoices_are_written(orders: int) -> str:
    """One job comes after all of a group, whatever becomes of them."""
    close = shop.close_day.data(orders=orders)
    group = shop.app.client.group(GROUP)
    return group.then("office", close, if_dependency_fails="run", retries=3)


def send_mails(mails: int, reminders: int) -> None:
    """Mail goes out now, reminders in a few seconds."""
    shop.send.put_many(
        {"to": f"user-{number}@example.org", "about": "your order"} for number in range(mails)
    )
    for first, seconds in enumerate(LATER):
        shop.send.after(seconds).put_many(
            {"to": f"user-{number}@example.org", "about": "did you forget something?"}
            for number in range(first, reminders, len(LATER))
        )
