"""Planted faults in the libraries that tell an outage from the death of a worker."""

from __future__ import annotations

from tests.model.harness import Fault

FAULTS = [
    Fault(
        "a restart is not noticed",
        "lib/outages",
        "silent_since < contact.since and contact.since or 0",
        "0",
    ),
    Fault("a restart always counts", "lib/outages", "silent_since < contact.since and ", ""),
    Fault("a silence is not noticed", "lib/outages", "ipairs(contact.gaps)", "ipairs({})"),
    Fault("a shorter silence counts", "lib/outages", "AWAY_SHARE = 0.6", "AWAY_SHARE = 0.5"),
    Fault("only a longer silence counts", "lib/outages", "AWAY_SHARE = 0.6", "AWAY_SHARE = 0.7"),
    Fault(
        "a silence after the end of the session counts",
        "lib/outages",
        "from <= silent_since + ttl and ",
        "",
    ),
    Fault(
        "the time before the last renewal counts",
        "lib/outages",
        "to - math.max(from, silent_since)",
        "to - from",
    ),
    Fault(
        "the oldest outage counts",
        "lib/outages",
        "back = math.max(back, to)",
        "back = back > 0 and back or to",
    ),
    Fault(
        "a spared session is extended again",
        "lib/outages",
        "was_spared and tonumber(silent_since) or ends - ttl",
        "ends - ttl",
    ),
    Fault("there is no grace", "lib/outages", " + settings('').grace", ""),
    Fault(
        "the end of a session is not moved", "lib/outages", "zset_add(SESSIONS", "tostring(SESSIONS"
    ),
    Fault(
        "an outage costs a retry",
        "lib/reclaim_dead_worker",
        "if was_spared then\n      t",
        "if false then\n      t",
    ),
    Fault(
        "a late renewal is refused",
        "lib/sessions",
        "(ends > now or grace_of(worker, ends) ~= nil)",
        "ends > now",
    ),
    Fault(
        "a late renewal is never refused",
        "lib/sessions",
        "(ends > now or grace_of(worker, ends) ~= nil)",
        "true",
    ),
    Fault(
        "each call is the first", "lib/contact", "contact and now >= contact.last and", "false and"
    ),
    Fault(
        "a silence is forgotten early",
        "lib/contact",
        "GAPS_AT_MOST = 250, 16",
        "GAPS_AT_MOST = 250, 15",
    ),
    Fault(
        "calls are not noted",
        "lib/contact",
        "    contact.last = now\n  else",
        "    tostring(now)\n  else",
    ),
    Fault("a silence has no end", "lib/contact", "  contact.last = now\nend", "end"),
]
