"""An online shop: its tasks, as an application would write them.

A worker for it is `headrace work headrace.demo.shop:app`. What takes time here is waited for, not
done: a card to be charged, a mail server, a disk. What goes wrong is left to the digits of a hash,
so it goes wrong for the same orders every time.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time

import headrace

NAMESPACE_VARIABLE = "HEADRACE_DEMO"
NAMESPACE = "demo-shop"

app = headrace.App(
    os.environ.get(NAMESPACE_VARIABLE, NAMESPACE),
    retries=3,
    backoff=headrace.Backoff(first=0.3, most=3),
)


class PaymentTimeout(Exception):
    """The bank did not answer."""


class MailServerBusy(Exception):
    """It says: try again later."""


class PrinterJam(Exception):
    """Somebody pulls the paper out, then it works."""


@app.task(queue="orders")
async def charge(order: int, customer: str, cents: int) -> str:
    """Charges the card for an order."""
    await asyncio.sleep(0.02 + 0.06 * chance("charge", order))
    if is_first_attempt() and chance("bank", order) < 0.04:
        raise PaymentTimeout(f"the bank did not answer for order {order}")
    if chance("card", order) < 0.015:
        raise headrace.Discard(f"the card of {customer} was declined", failure="CardDeclined")
    return f"{cents / 100:.2f} charged"


@app.task(queue="mail")
async def send(to: str, about: str) -> None:
    """Sends a mail."""
    await asyncio.sleep(0.01 + 0.02 * chance("send", to, about))
    if is_first_attempt() and chance("busy", to, about) < 0.05:
        raise MailServerBusy("421 try again later")
    if chance("address", to, about) < 0.01:
        raise headrace.Discard(f"550 no such user: {to}", failure="BadAddress")


@app.task(queue="pictures")
def resize(picture: int, width: int) -> int:
    """Makes a small picture of a large one; a plain function, so it runs in a thread."""
    small = hashlib.pbkdf2_hmac("sha256", b"picture", str(picture).encode(), 2_000)
    time.sleep(0.1 + 0.4 * chance("disk", picture))
    # Who finds it among the failures has it uploaded again; then a retry goes well.
    if is_first_attempt() and chance("corrupt", picture) < 0.012:
        raise headrace.Discard(f"picture {picture} is cut off", failure="CorruptPicture")
    return len(small) * width


@app.task(queue="invoices", key=lambda customer, **_: customer)
async def invoice(order: int, customer: str) -> str:
    """Writes the invoice for an order that is paid; of each customer a few at once."""
    if is_first_attempt() and chance("ink", order) < 0.02:
        raise headrace.Snooze(0.5)
    await asyncio.sleep(0.03 + 0.05 * chance("print", order))
    if is_first_attempt() and chance("jam", order) < 0.03:
        raise PrinterJam(f"sheet {order}")
    return f"{customer}-{order}.pdf"


@app.task(queue="office")
async def close_day(orders: int) -> str:
    """Closes the books of the shop, when every invoice is written."""
    await asyncio.sleep(0.05)
    return f"{orders} orders"


@app.cron("* * * * *", queue="office")
async def count_stock() -> None:
    """Counts what is on the shelves, once a minute."""
    await asyncio.sleep(0.05)


def is_first_attempt() -> bool:
    """Some things go wrong once, and then well."""
    return headrace.Context.current().attempt == 1


def chance(*about: object) -> float:
    """From 0 to 1, for the same things always the same."""
    digest = hashlib.blake2b(repr(about).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / (1 << 32)
