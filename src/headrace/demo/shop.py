"""The tasks of an online shop, written as an application would write them.

`headrace work headrace.demo.shop:app` starts a worker for these tasks. The tasks sleep instead of
charging cards or sending mail. A hash decides which jobs fail, so every run has the same failures.
"""

from __future__ import annotations

import asyncio
import hashlib
import time

import headrace
from headrace.demo import NAMESPACE

app = headrace.App(NAMESPACE, retries=3, backoff=headrace.Backoff(first=0.3, most=3))


class PaymentTimeout(Exception):
    """The bank did not answer."""


class MailServerBusy(Exception):
    """The mail server asked for a later attempt."""


class PrinterJam(Exception):
    """The printer is jammed; the next attempt succeeds."""


@app.task(queue="orders")
async def charge(order: int, customer: str, cents: int) -> str:
    """Charge the card for an order."""
    await asyncio.sleep(0.02 + 0.06 * chance("charge", order))
    if is_first_attempt() and chance("bank", order) < 0.04:
        raise PaymentTimeout(f"the bank did not answer for order {order}")
    if chance("card", order) < 0.015:
        raise headrace.Discard(f"the card of {customer} was declined", failure="CardDeclined")
    return f"{cents / 100:.2f} charged"


@app.task(queue="mail")
async def send(to: str, about: str) -> None:
    """Send a mail."""
    await asyncio.sleep(0.01 + 0.02 * chance("send", to, about))
    if is_first_attempt() and chance("busy", to, about) < 0.05:
        raise MailServerBusy("421 try again later")
    if chance("address", to, about) < 0.01:
        raise headrace.Discard(f"550 no such user: {to}", failure="BadAddress")


@app.task(queue="pictures")
def resize(picture: int, width: int) -> int:
    """Scale a picture down. This function is not async, so the worker runs it in a thread."""
    small = hashlib.pbkdf2_hmac("sha256", b"picture", str(picture).encode(), 2_000)
    time.sleep(0.1 + 0.4 * chance("disk", picture))
    # The customer uploads the picture again, so a retry succeeds.
    if is_first_attempt() and chance("corrupt", picture) < 0.012:
        raise headrace.Discard(f"picture {picture} is cut off", failure="CorruptPicture")
    return len(small) * width


@app.task(queue="invoices", key=lambda customer, **_: customer)
async def invoice(order: int, customer: str) -> str:
    """Write the invoice for a paid order."""
    if is_first_attempt() and chance("ink", order) < 0.02:
        raise headrace.Snooze(0.5)
    await asyncio.sleep(0.03 + 0.05 * chance("print", order))
    if is_first_attempt() and chance("jam", order) < 0.03:
        raise PrinterJam(f"sheet {order}")
    return f"{customer}-{order}.pdf"


@app.task(queue="office")
async def close_day(orders: int) -> str:
    """Close the day after every invoice is written."""
    await asyncio.sleep(0.05)
    return f"{orders} orders"


@app.cron("* * * * *", queue="office")
async def count_stock() -> None:
    """Count the stock once a minute."""
    await asyncio.sleep(0.05)


def is_first_attempt() -> bool:
    """Return whether this is the first attempt; some failures happen only in the first attempt."""
    return headrace.Context.current().attempt == 1


def chance(*about: object) -> float:
    """Return a number from 0 to 1 that depends only on the arguments."""
    digest = hashlib.blake2b(repr(about).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / (1 << 32)
