"""Faults to plant in the scripts of unique values, tags and tracked jobs."""

from __future__ import annotations

from tests.model.harness import Fault

TIES = [
    Fault(
        "a second of a kind is made",
        "lib/put_general",
        "given and unique_holder",
        "nil and unique_holder",
    ),
    Fault("a claim outlives its job", "lib/job_finished", "release_unique_value(job)", ""),
    Fault(
        "a claim stays in the queue that is left",
        "lib/change_queue",
        "release_unique_value(job)\n  if",
        "if",
    ),
    Fault(
        "a claim stays where a job moves on",
        "lib/change_queue",
        "release_unique_value(job)\n  book(",
        "book(",
    ),
    Fault("a job comes without a claim", "lib/change_queue", "claim_unique_value(job)", ""),
    Fault("a retried job has no claim", "ops/retry", "claim_unique_value(job)", ""),
    Fault("another's claim is released", "lib/unique_values", "== job.id then", "~= '' then"),
    Fault(
        "a claim is taken from another", "lib/unique_values", "set_extra(job, 'unique', nil)", ""
    ),
    Fault(
        "a value is given up without its claim", "lib/create_job", "release_unique_value(job)", ""
    ),
    Fault(
        "a retry makes a second of a kind",
        "ops/retry",
        "unique_refusal(job.queue,",
        "(function() end)(",
    ),
    Fault(
        "a requeue makes a second of a kind",
        "ops/requeue",
        "unique_refusal(into,",
        "(function() end)(",
    ),
    Fault(
        "a duplicate is a second of a kind",
        "lib/put_existing_id",
        "unique_refusal(into, value, spare)",
        "nil",
    ),
    Fault(
        "a move makes a second of a kind",
        "lib/put_existing_id",
        "value or extra(job, 'unique')",
        "value",
    ),
    Fault(
        "a replaced job takes a value that is taken",
        "lib/put_existing_id",
        "unique_refusal(job.queue, value, job.id)",
        "nil",
    ),
    Fault(
        "a replaced job has no claim to its new value",
        "lib/replace_job",
        "claim_unique_value(job)",
        "",
    ),
    Fault("what runs is replaced", "lib/put_taken_unique_value", "== 'running'", "== 'walking'"),
    Fault(
        "what runs stays unique",
        "lib/put_taken_unique_value",
        "set_extra(other_job, 'unique', nil)",
        "",
    ),
    Fault("what runs is not written", "lib/put_taken_unique_value", "mark_changed(other_job)", ""),
    Fault(
        "a repeated replacement happens twice",
        "lib/put_taken_unique_value",
        "== put_nonce",
        "== 'nonce'",
    ),
    Fault(
        "the other is replaced unasked", "lib/put_taken_unique_value", "~= 'replace'", "== 'none'"
    ),
    Fault("a tag is counted twice", "lib/tags", "if not is_among(before, tag)", "if true"),
    Fault("a tag that is taken stays listed", "lib/tags", "list_tag(job, tag, -1)", ""),
    Fault("a tag without jobs stays", "lib/tags", "redis.call('ZREM', TAGS, tag)", ""),
    Fault("tags are not counted", "lib/write_back", "write_tags()", ""),
    Fault("what is forgotten stays tagged", "lib/job_states", "set_tags(job, {})", ""),
    Fault("what is erased stays tagged", "lib/completed_jobs", "set_tags(job, {})", ""),
    Fault("a first tag outlives its job", "lib/tags", "return tag_counts or", "return"),
    Fault(
        "what is not kept stays tagged",
        "lib/completed_jobs",
        "delete_records(leaving)",
        "for _, id in ipairs(leaving) do delete_record(id) end",
    ),
    Fault(
        "a deleted queue leaves tags of results",
        "ops/delete_queue",
        "delete_records(alone)",
        "for _, id in ipairs(alone) do delete_record(id) end",
    ),
    Fault("a new tag is no event", "lib/tags", "emit(", "local _ = (function() end)("),
    Fault("too many tags", "ops/tag", "#wanted > most", "#wanted > most + 1"),
    Fault("unwanted tags stay", "ops/untag", "if not is_among(names, tag)", "if true"),
    Fault("one too many is tracked", "ops/track", ">= most", "> most"),
    Fault(
        "a tracked job is tracked from later on", "ops/track", "not extra(job, 'tracked')", "true"
    ),
    Fault("what is untracked is still told", "ops/untrack", "set_extra(job, 'tracked', nil)", ""),
    Fault(
        "what is untracked is still listed",
        "ops/untrack",
        "'ZREM', TRACKED, id",
        "'ZREM', TRACKED, ''",
    ),
    Fault(
        "events of a tracked job are not published",
        "lib/events",
        "if extra(job, 'tracked')",
        "if nil",
    ),
    Fault(
        "the plain ways do not see what is tracked",
        "lib/short_path",
        "or extras.group or extras.tracked",
        "or extras.group",
    ),
    Fault("a plain complete sees no claim", "lib/short_path", "or extras.unique ", ""),
    Fault("the audit sees no claims", "ops/audit_members", "not has_claim(job)", "false"),
    Fault(
        "the audit sees no tags",
        "ops/audit_members",
        "not redis.call('ZSCORE', key('tag', tag), job.id)",
        "false",
    ),
    Fault(
        "the audit counts no tags",
        "ops/audit_members",
        "or not redis.call('ZSCORE', TAGS, tag)",
        "",
    ),
    Fault("the audit ignores tracked jobs", "ops/audit_members", "extra(job, 'tracked')", "nil"),
    Fault("the audit counts no claims", "ops/audit_members", "reply[2] + 1", "reply[2]"),
    Fault(
        "the audit of a tag sees no ghost",
        "ops/audit_tag",
        "{ id, 'is listed under tag ' .. tag .. ' but has no record' }",
        "nil",
    ),
    Fault(
        "the audit of a tag ignores its jobs",
        "ops/audit_tag",
        "elseif not is_among(extra(job, 'tags'), tag)",
        "elseif false",
    ),
    Fault(
        "the audit of a tag does not count",
        "ops/audit_tag",
        "redis.call('ZCARD', where)",
        "tonumber(redis.call('ZSCORE', TAGS, tag) or 0)",
    ),
]
