"""Faults to plant in the scripts of dependencies; see tests/model/jobs/faults.py."""

from __future__ import annotations

from tests.model.harness import Fault

LINKS = [
    Fault("what is complete blocks", "lib/links", "job.state ~= 'complete' and ", ""),
    Fault(
        "what has failed blocks who runs", "lib/links", " and not (failed and policy == 'run')", ""
    ),
    Fault("failed members block who runs", "lib/links", "policy == 'run' and failed or 0", "0"),
    Fault(
        "a dependent is not recorded",
        "lib/links",
        "zset_add(dependents_key(policy, parent), job.id, number)",
        "",
    ),
    Fault(
        "a parent takes the short path", "lib/links", "set_extra(parent_job, 'awaited', true)", ""
    ),
    Fault(
        "who comes after the failure waits", "lib/links", "if failed and policy", "if not policy"
    ),
    Fault("links have no numbers", "lib/links", "job.id), parent, number", "job.id), parent, 1"),
    Fault("a delay stands still", "lib/links", "now + delay", "now"),
    Fault(
        "a link outlives the job",
        "lib/links",
        "zset_remove(dependents_key(policy, parent), job.id)",
        "",
    ),
    Fault("a job is blocked by its former self", "lib/links", "redis.call('DEL', depends)", ""),
    Fault("what is unlocked keeps its number", "lib/links", "job.seq = emit(", "local _ = emit("),
    Fault("a delay ends with the blocking", "lib/links", "math.max(0, job.since - now)", "0"),
    Fault(
        "a replacement does not keep its position",
        "lib/replace_job",
        " or job.state == 'blocked'",
        "",
    ),
    Fault(
        "who is replaced loses his dependencies",
        "lib/replace_job",
        "return redis.call('ZRANGE', key('depends', job.id), 0, -1)",
        "return nil",
    ),
    Fault("the blocked never expire", "lib/run_agenda", " or job.state == 'blocked'", ""),
    Fault(
        "who moves on is not blocked",
        "lib/change_queue",
        "event, delay, parents)",
        "event, delay)",
    ),
    Fault("who moves on may go round", "lib/complete_general", "if job and parents", "if false"),
]

CIRCLES = [
    Fault(
        "circles of one",
        "lib/find_cycle",
        "if wanted[pending[at]]",
        "if at > 1 and wanted[pending[at]]",
    ),
    Fault(
        "circles of many",
        "lib/find_cycle",
        "if wanted[pending[at]]",
        "if at == 1 and wanted[pending[at]]",
    ),
    Fault(
        "circles through a group",
        "lib/find_cycle",
        "  if group then\n    visit(group_parent(group))",
        "  if false then\n    visit(group_parent(group))",
    ),
    Fault(
        "circles through the groups of others",
        "lib/find_cycle",
        "if job and extra(job, 'group') then",
        "if false then",
    ),
    Fault(
        "who depends on what was refused is made",
        "lib/put_general",
        "note_creation(id, loaded_jobs[id])",
        "",
    ),
    Fault(
        "a job depends on what it likes",
        "ops/depend",
        "return find_cycle(",
        "return nil and find_cycle(",
    ),
]

ENDS = [
    Fault(
        "a cascade is one step deep",
        "lib/job_finished",
        "cascading and ending == 'gone' and",
        "false and",
    ),
    Fault(
        "nobody leaves a group", "lib/job_finished", "zset_remove(key('group', group), job.id)", ""
    ),
    Fault(
        "a group hears of no end",
        "lib/job_finished",
        "add_finished_parent(group_parent(group), ending)",
        "",
    ),
    Fault("failed members are live", "lib/job_states", "state == 'failed' and 1 or 0", "0"),
    Fault(
        "the end of another is no end",
        "lib/update_dependents",
        "gone = { wait = 'fail'",
        "gone = { _ = ''",
    ),
    Fault(
        "a failure satisfies",
        "lib/update_dependents",
        "cancel = 'cancel', fail = 'fail' },\n  g",
        "},\n  g",
    ),
    Fault(
        "one member is enough",
        "lib/update_dependents",
        "ending == 'completed' and all == 0",
        "all < 3",
    ),
    Fault(
        "one live member is none",
        "lib/update_dependents",
        "'run' and live == 0",
        "'run' and live < 2",
    ),
    Fault(
        "members may fail",
        "lib/update_dependents",
        "elseif policy ~= 'run' and",
        "elseif false and",
    ),
    Fault(
        "one dependency is enough",
        "lib/update_dependents",
        "if redis.call('EXISTS', key('depends', job.id)) == 0 then",
        "if true then",
    ),
    Fault(
        "old links count",
        "lib/update_dependents",
        "not job or redis.call('ZSCORE'",
        "not job or nil and redis.call('ZSCORE'",
    ),
    Fault(
        "what is left over is forgotten",
        "lib/update_dependents",
        "zset_add(AGENDA, 'unlock:' .. name, now)",
        "",
    ),
    Fault(
        "a second end covers the first",
        "lib/update_dependents",
        "redis.call('ZUNIONSTORE', to, 2, to, from, 'AGGREGATE', 'MAX')",
        "redis.call('RENAME', from, to)",
    ),
    Fault("a sweep is done too soon", "ops/sweep", " and not unlocking", ""),
    Fault(
        "due work does not finish dependents",
        "lib/write_back",
        "number))\n    follow_finished()",
        "number))",
    ),
]

CALLS = [
    Fault("dependents do not matter", "ops/cancel", "#others < TELL_AT_MOST", "false"),
    Fault("a cascade is none", "ops/cancel", "cascading = cascade\n", ""),
    Fault("a cascade never ends", "ops/cancel", "cascading = false\n", ""),
    Fault("blocking is no event", "ops/depend", "emit('blocked', job)", ""),
    Fault(
        "a scheduled job is due when blocked", "ops/depend", "job.since = due", "job.since = now"
    ),
    Fault("a failed job can be blocked", "ops/depend", "job.state ~= 'waiting' and", "false and"),
    Fault(
        "a link that was taken away stays",
        "ops/undepend",
        "zset_remove(dependents_key(policy, parent), job.id)",
        "",
    ),
    Fault("some is all", "ops/undepend", "not parents or", "parents or"),
    Fault("a repeated call is refused", "ops/undepend", "and not again and", "and"),
    Fault("nobody is pending", "ops/pending", "redis.call('ZCARD', key('group', group))", "0"),
]

AUDIT = [
    Fault("who is blocked by nothing", "ops/audit_links", "offset == 0 and not found[1]", "false"),
    Fault(
        "who is not known of",
        "ops/audit_links",
        "elseif not is_being_unlocked(",
        "elseif nil and is_being_unlocked(",
    ),
    Fault(
        "who waits for the past",
        "ops/audit_links",
        "if not open_parents({ parent }, policy)[1]",
        "if nil",
    ),
    Fault("dependents that never were", "ops/audit_links", "if not dependent_job or", "if"),
    Fault(
        "members that never were", "ops/audit_links", "if not member_job or", "if member_job and"
    ),
    Fault(
        "what is being unlocked is broken",
        "ops/audit_links",
        "      return true\n",
        "      return nil\n",
    ),
    Fault(
        "who is not in his group",
        "ops/audit_members",
        "elseif not is_in_its_group(job)",
        "elseif nil",
    ),
    Fault("who has links", "ops/audit_members", "linked[#linked + 1] = job.id", ""),
]

FAULTS = [*LINKS, *CIRCLES, *ENDS, *CALLS, *AUDIT]
