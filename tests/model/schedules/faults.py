"""Faults to plant in the scripts of schedules; the walks and checks must catch each."""

from __future__ import annotations

from tests.model.harness import Fault

CALENDAR = [
    Fault("a week begins on another day", "lib/cron", "(day + 4) % 7", "(day + 3) % 7"),
    Fault("a year has no leap day", "lib/cron", "math.floor(of_era / 1460)", "0"),
    Fault(
        "a month is passed by a day too many",
        "lib/cron",
        "later - over + 1",
        "later - over + 2",
    ),
    Fault("either day will do, always", "lib/cron", "or rule.either and (", "or ("),
    Fault("both days must fit, always", "lib/cron", "or rule.either and", "or false and"),
    Fault("the month does not matter", "lib/cron", "not contains(rule.months, month)", "false"),
    Fault("an hour ends too early", "lib/cron", "and 0 or 59, step)", "and 0 or 58, step)"),
    Fault("a day begins too late", "lib/cron", "step > 0 and 0 or DAY", "step > 0 and 60 or DAY"),
    Fault("a set has no end", "lib/cron", "#set - 1", "#set - 2"),
]

ZONES = [
    Fault(
        "times of real time keep to the wall",
        "lib/cron",
        "rule.fixed and at - 1 or at + 1",
        "at - 1",
    ),
    Fault(
        "times of the wall keep to real time",
        "lib/cron",
        "rule.fixed and at - 1 or at + 1",
        "at + 1",
    ),
    Fault(
        "what is left out comes too early",
        "lib/cron",
        "math.max(seconds, rule.offsets[at])",
        "seconds",
    ),
    Fault("now is the next time", "lib/cron", "/ 60) + 1", "/ 60)"),
    Fault(
        "a change comes too late",
        "lib/cron",
        "rule.offsets[at] > seconds",
        "rule.offsets[at] >= seconds",
    ),
    Fault("the last time is not the last", "lib/cron", "/ 60) - 1", "/ 60) - 2"),
    Fault("the clock is not told", "ops/get_schedules", "{ now }", "{ 0 }"),
]

TURNS = [
    Fault(
        "one too many is made up for", "lib/run_due_schedules", "math.huge) + 1)", "math.huge) + 2)"
    ),
    Fault(
        "the oldest are made up for", "lib/run_due_schedules", "missed - wanted + i - 1", "i - 1"
    ),
    Fault(
        "a turn comes twice",
        "lib/run_due_schedules",
        "while at > after and",
        "while at >= after and",
    ),
    Fault(
        "one too many of the newest",
        "lib/run_due_schedules",
        "#newest <= backlog",
        "#newest <= backlog + 1",
    ),
    Fault(
        "a turn comes too late",
        "lib/run_due_schedules",
        "while at <= now and",
        "while at < now and",
    ),
    Fault("what was left is lost", "lib/run_due_schedules", "newest[#newest - #runs] or", ""),
    Fault(
        "the grid drifts",
        "lib/run_due_schedules",
        "first + (missed - wanted + #runs) * every",
        "now + every",
    ),
    Fault("due too late", "lib/run_due_schedules", "'-inf', now,", "'-inf', now - 1,"),
    Fault(
        "many are not called again",
        "lib/run_due_schedules",
        "return runs_left > 0\n",
        "return true\n",
    ),
    Fault("taken ids are taken", "lib/run_due_schedules", "if not read_job(id) then", "if id then"),
    Fault("a turn without an id is lost", "lib/run_due_schedules", "      upcoming = at\n", ""),
    Fault(
        "one is not unique",
        "lib/run_due_schedules",
        "if unique_holder(schedule.queue, given.unique, '')",
        "if false",
    ),
    Fault("nobody is skipped", "lib/run_due_schedules", "schedule.skipped + 1", "schedule.skipped"),
    Fault("put when it was made", "lib/run_due_schedules", "job.put_at = at", "job.put_at = now"),
    Fault(
        "waits from when it was made", "lib/run_due_schedules", "job.since = at", "job.since = now"
    ),
    Fault("starts in time though late", "lib/run_due_schedules", "+ at - now", ""),
    Fault(
        "a job knows no schedule",
        "lib/run_due_schedules",
        "set_extra(job, 'schedule', schedule.id)",
        "",
    ),
    Fault(
        "an event knows no schedule", "lib/run_due_schedules", ", { 'schedule', schedule.id }", ""
    ),
    Fault(
        "jobs without options", "lib/run_due_schedules", "cmsgpack.unpack(schedule.options)", "{}"
    ),
    Fault("the last turn is forgotten", "lib/run_due_schedules", "schedule.last = at", ""),
    Fault("the next turn is not noted", "lib/run_due_schedules", "'next', upcoming, ", ""),
    Fault(
        "a schedule keeps its place",
        "lib/run_due_schedules",
        "list_schedule(schedule.id, schedule.queue, upcoming)",
        "",
    ),
]

CHANGES = [
    Fault("a repeated call begins anew", "ops/schedule", "again and old and", "false and old and"),
    Fault("turns never go on", "ops/schedule", "goes_on = delay < 0", "goes_on = false"),
    Fault("a delay is not heard", "ops/schedule", "goes_on = delay < 0", "goes_on = true"),
    Fault("another zone is the same rule", "ops/schedule", " and old.zone == new.zone", ""),
    Fault("another interval is the same rule", "ops/schedule", "old.every == new.every and", ""),
    Fault("a new interval begins now", "ops/schedule", "old.last + new.every", "now"),
    Fault(
        "the counter begins anew",
        "ops/schedule",
        "'skipped', 'counter', 'last'",
        "'skipped', 'last'",
    ),
    Fault("the count begins anew", "ops/schedule", "'made', 'skipped',", "'skipped',"),
    Fault("the skipped are forgotten", "ops/schedule", "'made', 'skipped',", "'made',"),
    Fault("the old queue has it too", "ops/schedule", "unlist_schedule(id, old.queue)", ""),
    Fault("nobody is told", "ops/schedule", "notify_queue(queue, 'scheduled')", ""),
    Fault("what is over is listed", "ops/unschedule", "unlist_schedule(id, queue)", ""),
    Fault("an end is not repeated", "ops/unschedule", "(queue or again)", "queue"),
    Fault(
        "what is over is still known",
        "ops/unschedule",
        "redis.call('DEL', key('schedule', id))",
        "",
    ),
    Fault(
        "one list is left", "lib/schedule_index", "  zset_remove(key('schedules', ''), id)\n", ""
    ),
]

OTHERS = [
    Fault(
        "a plain pop makes nothing",
        "lib/short_path",
        "first_score(key('schedules', queue))",
        "math.huge",
    ),
    Fault(
        "a plain pop sees no schedule alone",
        "lib/short_path",
        "key('schedules', queue), key('ingress'",
        "key('ingress'",
    ),
    Fault(
        "a pop sees no schedule alone",
        "lib/pop_general",
        "key('schedules', queue), key('ingress'",
        "key('ingress'",
    ),
    Fault(
        "a turn is not foreseen",
        "lib/pop_general",
        "key('schedules', queue), key('running'",
        "key('running'",
    ),
    Fault("a pop makes nothing", "lib/pop_general", " and run_due_schedules(queue)", ""),
    Fault("a peek makes nothing", "ops/prepare_peek", " and run_due_schedules(queue)", ""),
    Fault("a peek foresees nothing", "lib/next_jobs", "key('schedules', queue), ", ""),
    Fault("a sweep makes nothing", "ops/sweep", "done = run_due_schedules(queue) and done", ""),
    Fault(
        "schedules outlive their queue", "ops/delete_queue", "  unlist_schedule(id, queue)\n", ""
    ),
    Fault(
        "a schedule outlives its queue",
        "ops/delete_queue",
        "redis.call('DEL', key('schedule', id))",
        "",
    ),
]

FAULTS = [*CALENDAR, *ZONES, *TURNS, *CHANGES, *OTHERS]
