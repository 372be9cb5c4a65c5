"""Faults to plant in the scripts of schedules; the walks and checks must catch each."""

from __future__ import annotations

from tests.model.harness import Fault

CALENDAR = [
    Fault("days of the week are shifted by one", "lib/cron", "(day + 4) % 7", "(day + 3) % 7"),
    Fault("a year has no leap day", "lib/cron", "math.floor(of_era / 1460)", "0"),
    Fault(
        "a search skips the first day of a month",
        "lib/cron",
        "later - over + 1",
        "later - over + 2",
    ),
    Fault(
        "a day always matches if one of the two day fields matches",
        "lib/cron",
        "or rule.either and (",
        "or (",
    ),
    Fault(
        "a day always needs both day fields to match",
        "lib/cron",
        "or rule.either and",
        "or false and",
    ),
    Fault("the month field is ignored", "lib/cron", "not contains(rule.months, month)", "false"),
    Fault(
        "a search backwards skips the last minute of an hour",
        "lib/cron",
        "and 0 or 59, step)",
        "and 0 or 58, step)",
    ),
    Fault(
        "a search skips the first hour of a day",
        "lib/cron",
        "step > 0 and 0 or DAY",
        "step > 0 and 60 or DAY",
    ),
    Fault("a search skips the last number of a field", "lib/cron", "#set - 1", "#set - 2"),
]

ZONES = [
    Fault(
        "a rule without fixed times follows local time",
        "lib/cron",
        "rule.fixed and at - 1 or at + 1",
        "at - 1",
    ),
    Fault(
        "a rule with fixed times follows elapsed time",
        "lib/cron",
        "rule.fixed and at - 1 or at + 1",
        "at + 1",
    ),
    Fault(
        "a run in a skipped hour comes too early",
        "lib/cron",
        "math.max(seconds, rule.offsets[at])",
        "seconds",
    ),
    Fault("the next run may be now", "lib/cron", "/ 60) + 1", "/ 60)"),
    Fault(
        "a clock change takes effect one second late",
        "lib/cron",
        "rule.offsets[at] > seconds",
        "rule.offsets[at] >= seconds",
    ),
    Fault(
        "the search for the last run skips the current minute", "lib/cron", "/ 60) - 1", "/ 60) - 2"
    ),
    Fault("get_schedules returns no time", "ops/get_schedules", "{ now }", "{ 0 }"),
]

RUNS = [
    Fault(
        "one missed run too many is made up for",
        "lib/run_due_schedules",
        "math.huge) + 1)",
        "math.huge) + 2)",
    ),
    Fault(
        "the oldest instead of the newest missed runs are made up for",
        "lib/run_due_schedules",
        "missed - wanted + i - 1",
        "i - 1",
    ),
    Fault(
        "a cron run happens twice",
        "lib/run_due_schedules",
        "while at > after and",
        "while at >= after and",
    ),
    Fault(
        "one missed cron run too many is made up for",
        "lib/run_due_schedules",
        "#newest <= backlog",
        "#newest <= backlog + 1",
    ),
    Fault(
        "a cron run that is due now is not made",
        "lib/run_due_schedules",
        "while at <= now and",
        "while at < now and",
    ),
    Fault(
        "missed cron runs beyond the bound of a call are lost",
        "lib/run_due_schedules",
        "newest[#newest - #runs] or",
        "",
    ),
    Fault(
        "the runs of an interval drift",
        "lib/run_due_schedules",
        "first + (missed - wanted + #runs) * every",
        "now + every",
    ),
    Fault(
        "a schedule becomes due one millisecond late",
        "lib/run_due_schedules",
        "'-inf', now,",
        "'-inf', now - 1,",
    ),
    Fault(
        "a call reports that no runs are left although runs are left",
        "lib/run_due_schedules",
        "return done and runs_left > 0\n",
        "return true\n",
    ),
    Fault(
        "a run replaces a job with the same id",
        "lib/run_due_schedules",
        "if not read_job(id) then",
        "if id then",
    ),
    Fault("a run that got no id is lost", "lib/run_due_schedules", "      upcoming = at\n", ""),
    Fault(
        "a run ignores that its unique value is taken",
        "lib/run_due_schedules",
        "if unique_holder(schedule.queue, given.unique, '')",
        "if false",
    ),
    Fault(
        "skipped runs are not counted",
        "lib/run_due_schedules",
        "schedule.skipped + 1",
        "schedule.skipped",
    ),
    Fault(
        "a late run has the put time of its creation",
        "lib/run_due_schedules",
        "job.put_at = at",
        "job.put_at = now",
    ),
    Fault(
        "a late run has no waiting time",
        "lib/run_due_schedules",
        "job.since = at",
        "job.since = now",
    ),
    Fault("a late run has the whole start_within left", "lib/run_due_schedules", "+ at - now", ""),
    Fault(
        "the job of a run does not name its schedule",
        "lib/run_due_schedules",
        "set_extra(job, 'schedule', schedule.id)",
        "",
    ),
    Fault(
        "the event of a run does not name its schedule",
        "lib/run_due_schedules",
        ", { 'schedule', schedule.id }",
        "",
    ),
    Fault(
        "the jobs of a schedule have no options",
        "lib/run_due_schedules",
        "cmsgpack.unpack(schedule.options)",
        "{}",
    ),
    Fault(
        "a schedule does not store its last run", "lib/run_due_schedules", "schedule.last = at", ""
    ),
    Fault(
        "a schedule does not store its next run", "lib/run_due_schedules", "'next', upcoming, ", ""
    ),
    Fault(
        "a schedule is not listed under its next run",
        "lib/run_due_schedules",
        "list_schedule(schedule.id, schedule.queue, upcoming)",
        "",
    ),
]

CHANGES = [
    Fault(
        "every schedule call starts the schedule again",
        "ops/schedule",
        "goes_on = delay < 0",
        "goes_on = false",
    ),
    Fault(
        "a schedule call ignores a changed rule and the delay",
        "ops/schedule",
        "goes_on = delay < 0",
        "goes_on = true",
    ),
    Fault(
        "a changed time zone counts as the same rule",
        "ops/schedule",
        " and old.zone == new.zone",
        "",
    ),
    Fault(
        "a changed interval counts as the same rule",
        "ops/schedule",
        "old.every == new.every and",
        "",
    ),
    Fault(
        "a changed interval starts now instead of at the last run",
        "ops/schedule",
        "old.last + new.every",
        "now",
    ),
    Fault(
        "a changed schedule numbers its jobs from 1 again",
        "ops/schedule",
        "'skipped', 'counter', 'last'",
        "'skipped', 'last'",
    ),
    Fault(
        "a changed schedule resets the number of its runs",
        "ops/schedule",
        "'made', 'skipped',",
        "'skipped',",
    ),
    Fault(
        "a changed schedule resets the number of skipped runs",
        "ops/schedule",
        "'made', 'skipped',",
        "'made',",
    ),
    Fault(
        "a schedule stays listed in its old queue",
        "ops/schedule",
        "unlist_schedule(id, old.queue)",
        "",
    ),
    Fault(
        "a changed schedule sends no notice", "ops/schedule", "notify_queue(queue, 'scheduled')", ""
    ),
    Fault("a deleted schedule stays listed", "ops/unschedule", "unlist_schedule(id, queue)", ""),
    Fault(
        "a deleted schedule stays stored",
        "ops/unschedule",
        "redis.call('DEL', key('schedule', id))",
        "",
    ),
    Fault(
        "a deleted schedule stays in the list of all schedules",
        "lib/schedule_index",
        "  zset_remove(key('schedules', ''), id)\n",
        "",
    ),
]

CALLERS = [
    Fault(
        "the short path of pop ignores due schedules",
        "lib/short_path",
        "first_score(key('schedules', queue))",
        "math.huge",
    ),
    Fault(
        "the short path of pop ignores the schedules of a queue without scheduled jobs",
        "lib/short_path",
        "key('schedules', queue), key('ingress'",
        "key('ingress'",
    ),
    Fault(
        "the general path of pop ignores the schedules of a queue without scheduled jobs",
        "lib/pop_general",
        "key('scheduled', queue), key('schedules', queue)) > 0",
        "key('scheduled', queue)) > 0",
    ),
    Fault(
        "a pop does not report when the next run is due",
        "lib/pop_general",
        "key('schedules', queue), key('running'",
        "key('running'",
    ),
    Fault("a pop makes no runs", "lib/pop_general", "all_in = run_due_schedules(queue)", ""),
    Fault("a peek makes no runs", "ops/prepare_peek", " and run_due_schedules(queue)", ""),
    Fault(
        "a peek does not check for due schedules", "lib/next_jobs", "key('schedules', queue), ", ""
    ),
    Fault("a sweep makes no runs", "ops/sweep", "done = run_due_schedules(queue) and done", ""),
    Fault(
        "schedules stay listed after their queue is deleted",
        "ops/delete_queue",
        "  unlist_schedule(id, queue)\n",
        "",
    ),
    Fault(
        "a schedule stays stored after its queue is deleted",
        "ops/delete_queue",
        "redis.call('DEL', key('schedule', id))",
        "",
    ),
]

FAULTS = [*CALENDAR, *ZONES, *RUNS, *CHANGES, *CALLERS]
