"""Faults to plant in the scripts of dependencies; see tests/model/jobs/faults.py."""

from __future__ import annotations

from tests.model.harness import Fault

LINKS = [
    Fault("a complete dependency blocks a job", "lib/links", "job.state ~= 'complete' and ", ""),
    Fault(
        "a failed dependency blocks a job with the policy run",
        "lib/links",
        " and not (failed and policy == 'run')",
        "",
    ),
    Fault(
        "a failed member blocks a job with the policy run",
        "lib/links",
        "policy == 'run' and failed or 0",
        "0",
    ),
    Fault(
        "a dependent is not recorded",
        "lib/links",
        "zset_add(dependents_key(policy, parent), job.id, number)",
        "",
    ),
    Fault(
        "a job with dependents completes on the short path",
        "lib/links",
        "set_extra(parent_job, 'awaited', true)",
        "",
    ),
    Fault(
        "a job put after its dependency failed stays blocked",
        "lib/links",
        "if failed and policy",
        "if not policy",
    ),
    Fault(
        "dependencies are stored without event numbers",
        "lib/links",
        "job.id), parent, number",
        "job.id), parent, 1",
    ),
    Fault("a delay does not elapse while the job is blocked", "lib/links", "now + delay", "now"),
    Fault(
        "a dependent stays listed after it is no longer blocked",
        "lib/links",
        "zset_remove(dependents_key(policy, parent), job.id)",
        "",
    ),
    Fault(
        "a new job has the dependencies of a deleted job",
        "lib/links",
        "redis.call('DEL', depends)",
        "",
    ),
    Fault(
        "an unlocked job keeps its old position", "lib/links", "job.seq = emit(", "local _ = emit("
    ),
    Fault(
        "an unlocked job loses the rest of its delay",
        "lib/links",
        "math.max(0, job.since - now)",
        "0",
    ),
    Fault(
        "a replacement does not keep its position",
        "lib/replace_job",
        " or job.state == 'blocked'",
        "",
    ),
    Fault(
        "a replaced job loses its dependencies",
        "lib/replace_job",
        "return redis.call('ZRANGE', key('depends', job.id), 0, -1)",
        "return nil",
    ),
    Fault("a blocked job never expires", "lib/run_agenda", " or job.state == 'blocked'", ""),
    Fault(
        "a job that moves on with dependencies is not blocked",
        "lib/change_queue",
        "event, delay, parents)",
        "event, delay)",
    ),
    Fault(
        "a job that moves on may depend on itself",
        "lib/complete_general",
        "if job and parents",
        "if false",
    ),
]

CYCLES = [
    Fault(
        "a job may depend directly on itself",
        "lib/find_cycle",
        "if wanted[pending[at]]",
        "if at > 1 and wanted[pending[at]]",
    ),
    Fault(
        "a job may depend indirectly on itself",
        "lib/find_cycle",
        "if wanted[pending[at]]",
        "if at == 1 and wanted[pending[at]]",
    ),
    Fault(
        "a job may depend on its own group",
        "lib/find_cycle",
        "  if group then\n    visit(group_parent(group))",
        "  if false then\n    visit(group_parent(group))",
    ),
    Fault(
        "a job may depend on itself through the group of another job",
        "lib/find_cycle",
        "if job and extra(job, 'group') then",
        "if false then",
    ),
    Fault(
        "a job is put although its dependency was refused",
        "lib/put_general",
        "note_creation(id, loaded_jobs[id])",
        "",
    ),
    Fault(
        "depend does not check for cycles",
        "ops/depend",
        "return find_cycle(",
        "return nil and find_cycle(",
    ),
]

ENDINGS = [
    Fault(
        "a cascade cancels only direct dependents",
        "lib/job_finished",
        "cascading and ending == 'gone' and",
        "false and",
    ),
    Fault(
        "a finished job stays a member of its group",
        "lib/job_finished",
        "zset_remove(key('group', group), job.id)",
        "",
    ),
    Fault(
        "a group ignores that a member has finished",
        "lib/job_finished",
        "add_finished_parent(group_parent(group), ending)",
        "",
    ),
    Fault(
        "a failed member counts as unfinished",
        "lib/job_states",
        "state == 'failed' and 1 or 0",
        "0",
    ),
    Fault(
        "a deleted dependency does not fail its dependents",
        "lib/update_dependents",
        "gone = { wait = 'fail'",
        "gone = { _ = ''",
    ),
    Fault(
        "the policies cancel and fail ignore a failed dependency",
        "lib/update_dependents",
        "cancel = 'cancel', fail = 'fail' },\n  g",
        "},\n  g",
    ),
    Fault(
        "a group finishes before its last member",
        "lib/update_dependents",
        "ending == 'completed' and all == 0",
        "all < 3",
    ),
    Fault(
        "a group with the policy run finishes before its last member",
        "lib/update_dependents",
        "'run' and live == 0",
        "'run' and live < 2",
    ),
    Fault(
        "a failed member does not fail the callback",
        "lib/update_dependents",
        "elseif policy ~= 'run' and",
        "elseif false and",
    ),
    Fault(
        "a job is unlocked by its first dependency",
        "lib/update_dependents",
        "if redis.call('EXISTS', key('depends', job.id)) == 0 then",
        "if true then",
    ),
    Fault(
        "a former dependency still affects the job",
        "lib/update_dependents",
        "not job or redis.call('ZSCORE'",
        "not job or nil and redis.call('ZSCORE'",
    ),
    Fault(
        "dependents beyond the bound of a call are forgotten",
        "lib/update_dependents",
        "zset_add(AGENDA, 'unlock:' .. name, now)",
        "",
    ),
    Fault(
        "a second ending of a dependency discards the dependents of the first",
        "lib/update_dependents",
        "redis.call('ZUNIONSTORE', to, 2, to, from, 'AGGREGATE', 'MAX')",
        "redis.call('RENAME', from, to)",
    ),
    Fault("a sweep ends although dependents are left", "ops/sweep", " and not unlocking", ""),
    Fault(
        "a task of the agenda does not update dependents",
        "lib/write_back",
        "number))\n    follow_finished()",
        "number))",
    ),
]

CALLS = [
    Fault("cancel ignores dependents", "ops/cancel", "#others < TELL_AT_MOST", "false"),
    Fault("cancel ignores cascade", "ops/cancel", "cascading = cascade\n", ""),
    Fault("a cascade affects later jobs of the call", "ops/cancel", "cascading = false\n", ""),
    Fault("depend writes no event", "ops/depend", "emit('blocked', job)", ""),
    Fault(
        "depend ends the delay of a scheduled job",
        "ops/depend",
        "job.since = due",
        "job.since = now",
    ),
    Fault("a failed job can be blocked", "ops/depend", "job.state ~= 'waiting' and", "false and"),
    Fault(
        "a dependent stays listed after undepend",
        "ops/undepend",
        "zset_remove(dependents_key(policy, parent), job.id)",
        "",
    ),
    Fault(
        "undepend removes all dependencies instead of some",
        "ops/undepend",
        "not parents or",
        "parents or",
    ),
]

AUDIT = [
    Fault(
        "the audit ignores a blocked job without dependencies",
        "ops/audit_links",
        "offset == 0 and not found[1]",
        "false",
    ),
    Fault(
        "the audit ignores a dependency that does not list its dependent",
        "ops/audit_links",
        "elseif not is_being_unlocked(",
        "elseif nil and is_being_unlocked(",
    ),
    Fault(
        "the audit ignores a dependency that has finished",
        "ops/audit_links",
        "if not open_parents({ parent }, policy)[1]",
        "if nil",
    ),
    Fault(
        "the audit ignores listed dependents that do not exist",
        "ops/audit_links",
        "if not dependent_job or",
        "if",
    ),
    Fault(
        "the audit ignores listed members that do not exist",
        "ops/audit_links",
        "if not member_job or",
        "if member_job and",
    ),
    Fault(
        "the audit reports dependents that are being unlocked",
        "ops/audit_links",
        "      return true\n",
        "      return nil\n",
    ),
    Fault(
        "the audit ignores a job that its group does not list",
        "ops/audit_members",
        "elseif not is_in_its_group(job)",
        "elseif nil",
    ),
    Fault(
        "the audit does not check jobs with dependencies or dependents",
        "ops/audit_members",
        "linked[#linked + 1] = job.id",
        "",
    ),
]

FAULTS = [*LINKS, *CYCLES, *ENDINGS, *CALLS, *AUDIT]
