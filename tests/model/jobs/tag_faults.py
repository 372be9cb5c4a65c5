"""Faults to plant in the scripts of unique values, tags and tracked jobs."""

from __future__ import annotations

from tests.model.harness import Fault

TAG_FAULTS = [
    Fault(
        "a tracked job has no event",
        "ops/track",
        "      emit_tracking('tracked', id, job, actor)\n",
        "",
    ),
    Fault(
        "untracking a job that is not tracked has an event",
        "ops/untrack",
        "== 1 then\n    emit",
        ">= 0 then\n    emit",
    ),
    Fault(
        "put creates a second job with a unique value",
        "lib/put_general",
        "given and unique_holder",
        "nil and unique_holder",
    ),
    Fault(
        "a finished job keeps its unique value", "lib/job_finished", "release_unique_value(job)", ""
    ),
    Fault(
        "a job that leaves a queue keeps its unique value there",
        "lib/change_queue",
        "release_unique_value(job)\n  if",
        "if",
    ),
    Fault(
        "a completed job that moves on keeps its unique value there",
        "lib/change_queue",
        "release_unique_value(job)\n  book(",
        "book(",
    ),
    Fault(
        "a job that arrives in a queue does not claim its unique value",
        "lib/change_queue",
        "claim_unique_value(job)",
        "",
    ),
    Fault(
        "a retried job does not claim its unique value", "ops/retry", "claim_unique_value(job)", ""
    ),
    Fault(
        "a job releases the unique value of another job",
        "lib/unique_values",
        "== job.id then",
        "~= '' then",
    ),
    Fault(
        "a moved job takes the unique value of another job",
        "lib/unique_values",
        "set_extra(job, 'unique', nil)",
        "",
    ),
    Fault(
        "a job with a new unique value keeps the old one",
        "lib/create_job",
        "release_unique_value(job)",
        "",
    ),
    Fault(
        "retry creates a second job with a unique value",
        "ops/retry",
        "unique_refusal(job.queue,",
        "(function() end)(",
    ),
    Fault(
        "requeue creates a second job with a unique value",
        "ops/requeue",
        "unique_refusal(into,",
        "(function() end)(",
    ),
    Fault(
        "a duplicate is a second job with a unique value",
        "lib/put_conflicts",
        "unique_refusal(into, value, spare)",
        "nil",
    ),
    Fault(
        "a moved job is a second job with a unique value",
        "lib/put_conflicts",
        "value or extra(job, 'unique')",
        "value",
    ),
    Fault(
        "a replaced job takes a unique value that is taken",
        "lib/put_conflicts",
        "unique_refusal(job.queue, value, job.id)",
        "nil",
    ),
    Fault(
        "a replaced job does not claim its new unique value",
        "lib/replace_job",
        "claim_unique_value(job)",
        "",
    ),
    Fault(
        "a put replaces a running job",
        "lib/put_conflicts",
        "other_job.state == 'running'",
        "other_job.state == 'walking'",
    ),
    Fault(
        "a running job stays unique after another job took its value",
        "lib/put_conflicts",
        "set_extra(other_job, 'unique', nil)",
        "",
    ),
    Fault(
        "a running job that lost its unique value is not stored",
        "lib/put_conflicts",
        "mark_changed(other_job)",
        "",
    ),
    Fault(
        "a put replaces a job although on_exists is not replace",
        "lib/put_conflicts",
        "~= 'replace'",
        "== 'none'",
    ),
    Fault("a tag is counted twice", "lib/tags", "if not had[tag]", "if true"),
    Fault("a job stays listed under a removed tag", "lib/tags", "list_tag(job, tag, -1)", ""),
    Fault("a tag without jobs stays listed", "lib/tags", "redis.call('ZREM', TAGS, tag)", ""),
    Fault("tags are not counted", "lib/write_back", "write_tags()", ""),
    Fault("a deleted job stays listed under its tags", "lib/job_states", "set_tags(job, {})", ""),
    Fault(
        "deleted records stay listed under their tags",
        "lib/completed_jobs",
        "set_tags(job, {})",
        "",
    ),
    Fault(
        "a deleted job stays listed under a tag that the same call set",
        "lib/tags",
        "return tag_counts or",
        "return",
    ),
    Fault(
        "a pruned job without a result stays listed under its tags",
        "lib/completed_jobs",
        "delete_records(leaving, newest)",
        "for _, id in ipairs(leaving) do delete_record(id) end",
    ),
    Fault(
        "a job kept for its result stays listed under its tags after its queue is deleted",
        "ops/delete_queue",
        "delete_records(alone, math.huge)",
        "for _, id in ipairs(alone) do delete_record(id) end",
    ),
    Fault("a new tag writes no event", "lib/tags", "emit(", "local _ = (function() end)("),
    Fault("a job may have one tag too many", "ops/tag", "#wanted > most", "#wanted > most + 1"),
    Fault("untag removes no tag", "ops/untag", "if not unwanted[tag]", "if true"),
    Fault("one job too many may be tracked", "ops/track", ">= most", "> most"),
    Fault(
        "tracking a job again changes the time of its tracking",
        "ops/track",
        "not extra(job, 'tracked')",
        "true",
    ),
    Fault(
        "events of an untracked job are still published",
        "ops/untrack",
        "set_extra(job, 'tracked', nil)",
        "",
    ),
    Fault(
        "an untracked job is still listed",
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
        "the short paths ignore tracking",
        "lib/short_path",
        "or extras.group or extras.tracked",
        "or extras.group",
    ),
    Fault(
        "the short path of complete ignores unique values",
        "lib/short_path",
        "or extras.unique ",
        "",
    ),
    Fault(
        "the audit ignores missing claims of unique values",
        "ops/audit_members",
        "not has_claim(job)",
        "false",
    ),
    Fault(
        "the audit ignores a job that its tag does not list",
        "ops/audit_members",
        "not redis.call('ZSCORE', key('tag', tag), job.id)",
        "false",
    ),
    Fault(
        "the audit ignores a tag that has jobs but no count",
        "ops/audit_members",
        "or not redis.call('ZSCORE', TAGS, tag)",
        "",
    ),
    Fault("the audit ignores tracked jobs", "ops/audit_members", "extra(job, 'tracked')", "nil"),
    Fault(
        "the audit counts no claims of unique values",
        "ops/audit_members",
        "reply[2] + 1",
        "reply[2]",
    ),
    Fault(
        "the audit of a tag ignores listed jobs without a record",
        "ops/audit_tag",
        "{ id, 'is listed under tag ' .. tag .. ' but has no record' }",
        "nil",
    ),
    Fault(
        "the audit of a tag ignores listed jobs without the tag",
        "ops/audit_tag",
        "elseif not is_among(extra(job, 'tags'), tag)",
        "elseif false",
    ),
    Fault(
        "the audit of a tag ignores a wrong count",
        "ops/audit_tag",
        "redis.call('ZCARD', where)",
        "tonumber(redis.call('ZSCORE', TAGS, tag) or 0)",
    ),
]
