"""Faults to plant in the job scripts, one at a time; the walks and checks must catch each.

If the text of a fault is no longer in its file, a test fails: then plant the same fault in the new
code.
"""

from __future__ import annotations

from tests.model.harness import Fault

ORDER = [
    Fault(
        "jobs of equal priority are not ordered by sequence number",
        "lib/set_members",
        "numbered(job.seq,",
        "numbered(0,",
    ),
    Fault(
        "a plain batch is not ordered by sequence number",
        "lib/plain_put",
        "places[2 * i] = member_begins .. last_byte",
        "places[2 * i] = member_begins .. '0'",
    ),
    Fault(
        "a plain single put is not ordered by sequence number",
        "lib/plain_put",
        "score, numbered(seq, id))\n  count",
        "score, numbered(0, id))\n  count",
    ),
    Fault(
        "release swaps the front and the back of the queue",
        "lib/return_job",
        "position == 'back'",
        "position == 'front'",
    ),
    Fault(
        "a job that becomes waiting loses its priority",
        "lib/job_states",
        "and '-inf' or job.priority",
        "and '-inf' or 0",
    ),
    Fault(
        "a timeout returns a job to the position of its priority",
        "lib/job_states",
        "extra(job, 'first') and '-inf' or",
        "",
    ),
    Fault(
        "jobs that were timed out are not ordered by sequence number",
        "lib/set_members",
        "made_first, job.seq)",
        "made_first, 0)",
    ),
    Fault(
        "a new priority leaves a job that was timed out at the front",
        "lib/job_states",
        "if extra(job, 'first') then\n    leave_state",
        "if false then\n    leave_state",
    ),
    Fault(
        "a job stays first after it was popped",
        "lib/job_states",
        "    set_extra(job, 'first', nil)\n",
        "",
    ),
    Fault(
        "the short path of pop leaves a job first",
        "lib/short_path",
        " or extras.first",
        "",
    ),
    Fault(
        "a replaced job is no longer first",
        "lib/replace_job",
        "  set_extra(job, 'first', first or nil)\n",
        "",
    ),
    Fault(
        "a new priority does not change the position of the job",
        "lib/job_states",
        "zset_add(key('waiting', job.queue), job_member(job), job.priority)",
        "zset_add(key('waiting', job.queue), job_member(job), 0)",
    ),
    Fault("peek does not promote due jobs", "lib/next_jobs", "<= now then", "< 0 then"),
    Fault(
        "peek shows late jobs that have no retries left",
        "ops/peek",
        "job.remaining <= 0",
        "job.remaining < -9",
    ),
]

TIME = [
    Fault(
        "a lease expires one millisecond late",
        "lib/pop_general",
        "'ZCOUNT', where, '-inf', now)",
        "'ZCOUNT', where, '-inf', now - 1)",
    ),
    Fault(
        "the short path of pop ignores a job that is due now",
        "lib/plain_pop",
        "due <= now",
        "due < now",
    ),
    Fault(
        "a scheduled job becomes due one millisecond late",
        "lib/promote_due_jobs",
        "'-inf', now,",
        "'-inf', now - 1,",
    ),
    Fault(
        "a pop does not report when the next session expires",
        "lib/pop_general",
        ", SESSIONS, key('gated', queue),",
        ", key('gated', queue),",
    ),
    Fault("a scheduled job never expires", "lib/run_agenda", " or job.state == 'scheduled'", ""),
    Fault(
        "a call runs only one task of the agenda",
        "lib/run_agenda",
        "AGENDA_AT_MOST = 16",
        "AGENDA_AT_MOST = 1",
    ),
    Fault("a heartbeat does not extend the lease", "ops/heartbeat", "now + span", "now"),
    Fault(
        "an event omits the payload that the call replaced",
        "lib/events",
        "elseif data then",
        "elseif nil then",
    ),
    Fault(
        "a result ignores the result_ttl of its job",
        "lib/results",
        "extra(job, 'result_ttl') or ",
        "",
    ),
]

LEASES = [
    Fault("every lease token is accepted", "lib/check_lease", "token == job.token", "token ~= ''"),
    Fault(
        "the short path of complete accepts every token",
        "lib/plain_complete",
        "token ~= tokens[i] or ",
        "",
    ),
    Fault(
        "the short path of pop always stores attempt 1",
        "lib/plain_pop",
        "pack(attempt, rem",
        "pack(1, rem",
    ),
    Fault(
        "the short path of pop does not store the start time",
        "lib/plain_pop",
        "at_since) .. since",
        "at_since) .. '\\0'",
    ),
    Fault("a plain batch stores no retries", "lib/plain_put", "pack(now, retries)", "pack(now, 0)"),
    Fault(
        "a plain single put stores no retries", "lib/plain_put", "seq, now, retries", "seq, now, 0"
    ),
    Fault(
        "an event contains a payload above event_data",
        "lib/short_path",
        "if #data > largest",
        "if false",
    ),
    Fault(
        "the short path of pop forgets earlier attempts", "lib/plain_pop", "(attempt or 0) + 1", "1"
    ),
    Fault(
        "the short path of pop restores the lost retries",
        "lib/plain_pop",
        "if remaining == nil",
        "if remaining",
    ),
    Fault(
        "no history is stored",
        "lib/job_packing",
        "initial_fields(job), HISTORY",
        "initial_fields(job), HISTORY - 1",
    ),
    Fault("a lost lease costs no retry", "lib/return_job", "job.remaining - 1", "job.remaining"),
    Fault(
        "a job gets one retry too many", "lib/return_job", "job.remaining <= 0", "job.remaining < 0"
    ),
    Fault(
        "retry does not restore the lost retries", "ops/retry", "job.remaining = job.retries", ""
    ),
    Fault(
        "one pop delivers the same job twice",
        "lib/expired_leases",
        "job.token ~= job.attempt",
        "'' ~= job.attempt",
    ),
    Fault(
        "a running job is replaced",
        "lib/put_conflicts",
        "or policy == 'replace' and job.state == 'running'",
        "",
    ),
    Fault(
        "a lease check accepts the token of a former holder",
        "ops/check_leases",
        " and job.token == token",
        "",
    ),
    Fault(
        "a lease check accepts a job that no longer runs",
        "ops/check_leases",
        "job.state == 'running' and ",
        "",
    ),
    Fault("a lease check accepts a deleted job", "ops/check_leases", "'cancelled'", "'held'"),
    Fault("pop ignores a pause", "lib/pop_general", "limits.paused == 1", "limits.paused == 2"),
]

SESSIONS = [
    Fault("a session expires one millisecond late", "lib/sessions", "> now", ">= now"),
    Fault(
        "a worker may pop from a queue that it does not serve",
        "ops/pop",
        "or session_mode == 'required' and not redis.call('ZSCORE', key('serves', worker), queue)",
        "",
    ),
    Fault(
        "the end of a session reclaims jobs of queues without sessions",
        "lib/sessions",
        "not settings(job.queue).session",
        "false",
    ),
    Fault(
        "a running job is not listed as held",
        "lib/job_states",
        "zset_add(key('held', job.worker), held_member(job), 0)",
        "",
    ),
    Fault(
        "a job that no longer runs is still listed as held",
        "lib/job_states",
        "zset_remove(key('held', job.worker), held_member(job))",
        "",
    ),
    Fault(
        "the short path of complete leaves the job listed as held",
        "lib/plain_complete",
        "redis.call('ZREM', key('held', worker), unpack(held))",
        "",
    ),
]

BOOKS = [
    Fault(
        "the books do not count a moved job",
        "lib/change_queue",
        "  book(job.queue, 'moved', 1)\nend",
        "end",
    ),
    Fault(
        "the books do not count a plain pop", "lib/plain_pop", "'running', popped", "'running', 0"
    ),
    Fault(
        "the books do not count pruned jobs",
        "lib/completed_jobs",
        "book(queue, 'pruned', #ids)",
        "",
    ),
    Fault(
        "a job that is no longer failed stays in the list of its failure type",
        "lib/failures",
        "list_failure(job, -1)",
        "",
    ),
    Fault("a deleted queue leaves its books", "ops/delete_queue", "'books', ", ""),
    Fault(
        "the audit ignores the queue in the record",
        "ops/audit_members",
        " or job.queue ~= queue",
        "",
    ),
    Fault(
        "the audit ignores that a held job is not listed",
        "ops/audit_members",
        "if started and",
        "if false and",
    ),
    Fault(
        "the audit ignores jobs that no state lists",
        "ops/audit_log",
        "reply[#reply + 1] =",
        "local _ =",
    ),
    Fault(
        "reads return completed jobs past their age",
        "lib/kept_jobs",
        "redis.call('ZCOUNT', kept, '-inf', now - limits.keep_age)",
        "0",
    ),
    Fault(
        "the audit ignores lost jobs",
        "ops/audit_log",
        "KEEPS[kind] = true",
        "ENDS[kind] = true",
    ),
]

BULK = [
    Fault(
        "a bulk retry selects failed jobs of other queues",
        "ops/find_failed",
        "or job.queue == queue",
        "or true",
    ),
    Fault(
        "a bulk retry selects failed jobs without the tag",
        "ops/find_failed",
        "is_among(extra(job, 'tags'), tag)",
        "true",
    ),
    Fault(
        "a bulk retry selects jobs that failed after the end time",
        "ops/find_failed",
        "tonumber(at) > last",
        "false",
    ),
    Fault(
        "a bulk retry retries a job that has failed again",
        "ops/retry",
        "failed_at and failed_at ~= extra(job, 'failure')[3]",
        "false",
    ),
    Fault(
        "a bulk retry moves a job that is no longer failed",
        "ops/requeue",
        "job.state ~= state",
        "false",
    ),
    Fault(
        "a bulk cancel cancels a job that has failed again",
        "ops/cancel",
        "wanted == extra(job, 'failure')[3]",
        "true",
    ),
    Fault(
        "a bulk cancel cancels a job that has dependents",
        "ops/cancel",
        "held_back[#held_back + 1] = others[1] and id",
        "local _ = nil",
    ),
    Fault(
        "a bulk cancel cancels a job in another state", "ops/cancel", "wanted == job.state", "true"
    ),
    Fault(
        "a bulk cancel cancels a dependency of a job that stays",
        "ops/cancel",
        "ipairs(parents[id] or {})",
        "ipairs({})",
    ),
]

RETENTION = [
    Fault(
        "the retention keeps one job too many",
        "lib/completed_jobs",
        "redis.call('ZCARD', kept) - limits.keep_count",
        "redis.call('ZCARD', kept) - limits.keep_count - 1",
    ),
    Fault(
        "the retention keeps a job one millisecond too long",
        "lib/completed_jobs",
        "'ZRANGE', kept, '-inf', now -",
        "'ZRANGE', kept, '-inf', now - 1 -",
    ),
    Fault("the short path of complete prunes nothing", "lib/plain_complete", "or kept >", "or 0 >"),
    Fault(
        "the general path of complete prunes nothing", "lib/completed_jobs", "or kept >", "or 0 >"
    ),
    Fault("complete jobs are not pruned by age", "lib/completed_jobs", "kept <= added or", ""),
    Fault("a message is cut within a character", "lib/failures", "size > 0 and", "false and"),
    Fault(
        "the history keeps the whole message of a permanent failure",
        "lib/failures",
        "'failed', kind, short",
        "'failed', kind, message",
    ),
    Fault(
        "the history keeps the whole message of a retried failure",
        "ops/fail",
        "}, failure, short, data)",
        "}, failure, message, data)",
    ),
    Fault(
        "a failure without a traceback keeps the previous traceback",
        "lib/failures",
        "redis.call('HDEL', notes, 'error')",
        "",
    ),
    Fault("the history loses its first entry", "lib/job_history", "math.min(2, #entries)", "1"),
]

STATISTICS = [
    Fault(
        "a duration of 60 s counts in a bin of seconds",
        "lib/statistics",
        "seconds < 60 then",
        "seconds <= 60 then",
    ),
    Fault("a bin of a quarter hour has ten minutes", "lib/statistics", "/ 900", "/ 600"),
    Fault(
        "the variance is computed with the wrong mean",
        "lib/statistics",
        "(x - mean) * (x - before)",
        "(x - mean) * (x - mean)",
    ),
    Fault(
        "the statistics do not count retries", "lib/return_job", "observe(job.queue, 'retries')", ""
    ),
    Fault(
        "a job that pop deletes has a running time",
        "lib/hand_out",
        "emit('completed', job)",
        "emit('completed', job, nil, 0)",
    ),
    Fault(
        "a closed session is reported as expired",
        "ops/session_end",
        "'session closed'",
        "'session ended'",
    ),
    Fault("a requeued job has no tags", "ops/requeue", "if extra(job, 'tags')", "if false"),
    Fault("the day -1 does not mean today", "ops/day_totals", "wanted < 0", "wanted < -1"),
    Fault(
        "the totals of a day name the wrong event",
        "ops/day_totals",
        "or 0), wanted",
        "or 0) - 1, wanted",
    ),
]

NOTICES = [
    Fault("event numbers have gaps", "lib/events", "number = number + 1", "number = number + 2"),
    Fault(
        "the short path does not store the newest event number",
        "lib/short_path",
        "number > first_number",
        "false",
    ),
    Fault(
        "the log stores a number above that of the newest event",
        "lib/events",
        "'number', number,",
        "'number', number + 1,",
    ),
    Fault("a plain single put wakes no worker", "lib/plain_put", "'work 1'", "'rest 1'"),
    Fault(
        "a plain single put lists its job in no lane",
        "lib/plain_put",
        "if job_key or governed then",
        "if nil then",
    ),
    Fault(
        "a plain batch lists its jobs in no lane",
        "lib/plain_put",
        "(job_key or governed) and",
        "nil and",
    ),
    Fault(
        "a job with a key is in the lane of jobs without a key",
        "lib/plain_put",
        "job_key and job_key ..",
        "nil and",
    ),
    Fault(
        "a new first job does not change its lane",
        "lib/plain_put",
        "and lane or nil",
        "and nil or nil",
    ),
    Fault("a plain put does not store the key", "lib/plain_put", "key = job_key }", "key = nil }"),
    Fault(
        "a plain put does not refresh a changed lane",
        "lib/write_back",
        "if left.changed_lane",
        "if nil",
    ),
    Fault(
        "a plain single put ignores the offer of a worker",
        "lib/plain_put",
        "= offer and not options and",
        "= false and",
    ),
    Fault(
        "a plain put ignores due tasks of the agenda",
        "lib/short_path",
        "'-inf', now) > 0",
        "'-inf', 0) > 0",
    ),
    Fault(
        "a put that arrives late takes the job from its holder",
        "lib/put_general",
        "if has_new_ids and (job or was_created(id)) then",
        "if nil then",
    ),
    Fault("a plain put does not store the priority", "lib/plain_put", "options.priority or 0", "0"),
    Fault(
        "a plain put does not store the retries",
        "lib/plain_put",
        "retries = options.retries",
        "retries = 5",
    ),
    Fault("a plain put does not store the tags", "lib/plain_put", "{ tags = tags,", "{ tags = {},"),
    Fault(
        "a plain single put does not list its job under its tags",
        "lib/plain_put",
        "list_tags(tags, { now, id }, 1)",
        "",
    ),
    Fault(
        "a plain batch does not list its jobs under their tags",
        "lib/plain_put",
        "list_tags(tags, scored_ids(ids, string.format('%d', now)), #ids)",
        "",
    ),
    Fault(
        "a plain batch is listed without its priority",
        "lib/plain_put",
        "places[2 * i - 1] = score",
        "places[2 * i - 1] = '0'",
    ),
    Fault(
        "a batch packs only its first number",
        "lib/plain_put",
        "if i == 1 or seq % 128 == 0 then",
        "if i == 1 then",
    ),
    Fault(
        "a batch packs only numbers of two bytes anew",
        "lib/plain_put",
        "seq % 128 == 0",
        "seq % 256 == 0",
    ),
    Fault(
        "payloads of a batch have one header",
        "lib/plain_put",
        "string.char(seq % 256), #data",
        "string.char(seq % 256), #payloads[1]",
    ),
    Fault(
        "a put that arrives late hands over a job that a worker holds",
        "lib/hand_over",
        "'SETNX', job_",
        "'SET', job_",
    ),
    Fault("a job that becomes due writes no event", "lib/promote_due_jobs", "emit('due', job)", ""),
    Fault(
        "the former holder of a lost lease gets no notice",
        "lib/return_job",
        "notify_worker(job, 'lost')",
        "",
    ),
    Fault("a job that becomes waiting wakes no worker", "lib/job_states", "wake(job.queue, 1)", ""),
    Fault(
        "an offer is used twice",
        "lib/hand_over",
        "return false\n  end\n  redis.call('HDEL', key('settings', queue), 'idle')",
        "return false\n  end",
    ),
    Fault(
        "a job is handed over although other jobs wait",
        "lib/hand_over",
        "redis.call('EXISTS', key('waiting', queue), key('ingress', queue)) == 0",
        "true",
    ),
    Fault(
        "a job is handed over to a worker without a live session",
        "lib/hand_over",
        "tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) > now",
        "true",
    ),
    Fault(
        "the books do not count a handed-over job as running",
        "lib/hand_over",
        "redis.call('HINCRBY', key('books', queue), 'running', '1')",
        "",
    ),
    Fault(
        "a handed-over job is not listed as held",
        "lib/hand_over",
        "redis.call('ZADD', key('held', worker), '0', queue .. '\\0' .. id)",
        "",
    ),
    Fault(
        "the statistics do not count the wait of a handed-over job",
        "lib/hand_over",
        "queue, 'wait', { 0 })",
        "queue, 'wait', {})",
    ),
    Fault(
        "an earlier due time sends no notice", "lib/job_states", "announce_due(queue, score)", ""
    ),
    Fault("a plain batch wakes no worker", "lib/plain_put", "'work ' ..", "'rest ' .."),
    Fault("a sweep does not see its own changes", "ops/sweep", "flush_zsets()", ""),
    Fault(
        "a pop wakes workers for jobs that it hands out itself",
        "lib/pop_general",
        "wake(queue, -#granted)",
        "",
    ),
    Fault(
        "a client that waits for a result gets no notice",
        "lib/complete_general",
        "notify_finished(job.id)",
        "",
    ),
]

MATCHING = [
    Fault(
        "matching finds failed jobs",
        "lib/find_by_payload",
        "'running' }",
        "'running', 'failed' }",
    ),
    Fault("matching ignores scheduled jobs", "lib/find_by_payload", "'scheduled', ", ""),
    Fault(
        "matching accepts a payload that only contains the data",
        "lib/find_by_payload",
        "return job.data == data",
        "return true",
    ),
    Fault(
        "matching accepts every large payload of equal length",
        "lib/find_by_payload",
        " and payload(job) == data",
        "",
    ),
    Fault(
        "the member of a waiting job is used as its id",
        "lib/set_members",
        "name_in(found[i])",
        "found[i]",
    ),
    Fault(
        "a step of matching examines too many jobs",
        "lib/find_by_payload",
        "left - #found / 2",
        "left",
    ),
    Fault("matching skips jobs at the start of a state", "lib/find_by_payload", "after = nil", ""),
    Fault(
        "matching starts again at the first state", "lib/find_by_payload", "pack({ at,", "pack({ 1,"
    ),
    Fault(
        "cancel_matching sends no notice to the queue",
        "ops/cancel_matching",
        "'cancelled ' .. data",
        "'work 0'",
    ),
    Fault(
        "a scan returns jobs above its highest score",
        "ops/scan_jobs",
        "tonumber(found[i + 1]) > highest",
        "false",
    ),
    Fault("a scan returns no cursor", "ops/scan_jobs", "after and cmsgpack", "false and cmsgpack"),
    Fault("a page starts after the wrong member", "lib/scan_set", "low = middle + 1", "low = high"),
]

INGRESS = [
    Fault(
        "a setting that keeps its value has an event",
        "lib/operator_events",
        "if (value or false) ~= redis.call('HGET', where, name) then",
        "do",
    ),
    Fault(
        "the newest element of an ingress list becomes a job first",
        "lib/ingress",
        "'RPOP'",
        "'LPOP'",
    ),
    Fault(
        "an element stays in its ingress list",
        "lib/ingress",
        "'RPOP', where)",
        "'LINDEX', where, -1)",
    ),
    Fault(
        "the payload is the job id in every queue",
        "lib/ingress",
        "settings(queue).ingress == 'id'",
        "true",
    ),
    Fault("the payload is the job id in no queue", "lib/ingress", "shards == '1'", "shards == '0'"),
    Fault(
        "a pushed id that exists creates another job",
        "lib/ingress",
        "if not read_job(id) then",
        "do",
    ),
    Fault(
        "a pushed id creates another job after the job of another queue has finished",
        "lib/ingress",
        " or own_job and own_job.queue",
        " or false and own_job.queue",
    ),
    Fault(
        "a generated ingress id may exist already",
        "lib/ingress",
        "until not read_job(id)",
        "until id",
    ),
    Fault("a pushed id may have more than 250 bytes", "lib/ingress", "250", "251"),
    Fault("a pushed id may be empty", "lib/ingress", "bytes == '' or ", ""),
    Fault(
        "the short path of pop ignores the ingress list",
        "lib/short_path",
        "key('ingress', queue)) == 1",
        "queue) == 1",
    ),
    Fault(
        "the short path of pop ignores the ingress list of a queue without schedules",
        "lib/short_path",
        ", key('ingress', queue)) > 0",
        ") > 0",
    ),
    Fault(
        "the general path of pop ignores the ingress list",
        "lib/pop_general",
        "drain_ingress_for_pop(queue, count) and ",
        "",
    ),
    Fault(
        "the short path of pop ignores scheduled jobs",
        "lib/short_path",
        "first_score(key('scheduled', queue)),",
        "math.huge,",
    ),
    Fault("peek does not drain the ingress list", "ops/prepare_peek", "\ndrain_ingress(queue)", ""),
    Fault(
        "peek does not check whether the ingress list has elements",
        "lib/next_jobs",
        "'EXISTS', key('ingress'",
        "'EXISTS', key('data'",
    ),
    Fault(
        "a sweep does not drain the ingress list",
        "ops/sweep",
        "drain_ingress(queue) and done",
        "done",
    ),
    Fault(
        "an ingress list outlives its queue", "ops/delete_queue", "'days', 'ingress', ", "'days', "
    ),
]

LAKES = [
    Fault(
        "trimming follows the newest mark instead of the oldest",
        "lib/trim_event_log",
        "event_number < lowest",
        "event_number > lowest",
    ),
    Fault("trimming ignores all lakes", "lib/trim_event_log", "if kept then", "if false then"),
    Fault(
        "trimming by age ignores lakes",
        "lib/trim_event_log",
        "oldest_ms <= kept_ms and",
        "true and",
    ),
    Fault(
        "trimming by count ignores lakes",
        "lib/trim_event_log",
        "select(2, entry_parts(newest)) - limits.events_count > kept_number",
        "false",
    ),
    Fault(
        "trimming deletes events that a lake lacks",
        "lib/trim_event_log",
        "+ 1)\n  trim(",
        "+ 300)\n  trim(",
    ),
    Fault(
        "events that every lake has are not trimmed by count",
        "lib/trim_event_log",
        "    trim('MINID', after_kept)\n",
        "",
    ),
    Fault("the log has no cap", "lib/trim_event_log", "    trim_forced(limits, kept_number)\n", ""),
    Fault(
        "a cap below events_count takes effect",
        "lib/trim_event_log",
        "math.max(limits.events_count, limits.events_cap)",
        "limits.events_cap",
    ),
    Fault(
        "dropped events are not counted", "lib/trim_event_log", "'dropped', dropped", "'dropped', 0"
    ),
    Fault(
        "events that every lake has count as dropped",
        "lib/trim_event_log",
        "math.max(oldest_number, kept_number + 1)",
        "oldest_number",
    ),
    Fault(
        "trimmed events are counted twice",
        "lib/trim_event_log",
        "  trimmed, more = 0, false\n",
        "  trimmed, more = trimmed or 0, false\n",
    ),
    Fault(
        "an unfinished trim continues only after events_age",
        "lib/trim_event_log",
        "more and now or",
        "false or",
    ),
    Fault(
        "the mark of a lake may decrease",
        "ops/mark_lake",
        "marked > select(2, entry_parts(before))",
        "true",
    ),
    Fault("a new mark does not trim the log", "ops/mark_lake", "  trim_event_log()\n", ""),
    Fault("a mark may be newer than the log", "ops/mark_lake", "marked > newest_number", "false"),
    Fault(
        "an entry of another log may be marked",
        "ops/mark_lake",
        "elseif not is_of_this_log",
        "elseif not tostring",
    ),
    Fault("forgetting a lake does not trim the log", "ops/forget_lake", "  trim_event_log()\n", ""),
    Fault(
        "a search for an event ends too early", "ops/seek_events", "low = middle + 1", "low = high"
    ),
    Fault(
        "a search for an event ends too late",
        "ops/seek_events",
        "reached >= wanted",
        "reached > wanted",
    ),
]

IMPORTS = [
    Fault(
        "a repeated import creates a job again",
        "ops/import_jobs",
        "before[at] or taken[import_id]",
        "taken[import_id]",
    ),
    Fault("an import replaces a job with the same id", "ops/import_jobs", "not job and id", "id"),
    Fault(
        "import ids are not stored",
        "lib/imported_ids",
        "if #imported_now > 0 then",
        "if nil then",
    ),
    Fault(
        "import ids are never deleted",
        "lib/run_agenda",
        "key('imported', import)",
        "key('days', import)",
    ),
    Fault(
        "imported jobs have no order",
        "ops/import_jobs",
        "job.seq = emit_put",
        "job.seq = 0 * emit_put",
    ),
    Fault(
        "the put of an imported job has the time of the import",
        "ops/import_jobs",
        "about.put_at or now",
        "now",
    ),
    Fault(
        "the failure of an imported job has the time of the import",
        "ops/import_jobs",
        "known_at > 0 and known_at or now",
        "now",
    ),
    Fault(
        "the completion of an imported job has the time of the import",
        "ops/import_jobs",
        "about.ended or now",
        "now",
    ),
    Fault(
        "an imported job loses its history", "ops/import_jobs", "#entries > 0 and entries", "false"
    ),
    Fault(
        "an imported job loses its count of releases", "ops/import_jobs", "about.releases)", "nil)"
    ),
    Fault(
        "the books do not count the put of an imported job",
        "ops/import_jobs",
        "  book(queue, 'put', 1)\n",
        "",
    ),
    Fault(
        "the dependencies of an imported job are ignored",
        "ops/import_jobs",
        "if about.parents then",
        "if nil then",
    ),
    Fault(
        "a dependency of the same call is ignored",
        "ops/import_jobs",
        "taken[parents[i]] or id",
        "id",
    ),
    Fault(
        "an imported job is not tracked", "ops/import_jobs", "if about.tracked then", "if nil then"
    ),
    Fault(
        "a repeated import creates a deleted schedule again",
        "ops/schedule",
        "import_id })[1]",
        "import_id })[2]",
    ),
    Fault(
        "an import replaces a schedule with the same id",
        "ops/schedule",
        "(old or imported_as",
        "(imported_as",
    ),
    Fault(
        "a repeated import publishes an item again", "ops/import_items", "not before[at] and ", ""
    ),
    Fault(
        "the id of an imported item does not raise the counter of ids",
        "ops/import_items",
        "      raise_counter(id)\n",
        "",
    ),
    Fault(
        "imported items exceed the max_length of a feed",
        "ops/import_items",
        "and not is_sorted then",
        "and nil then",
    ),
    Fault(
        "the statistics of a day are never deleted",
        "lib/statistics",
        "limits.stats_age, 'stats:'",
        "10 ^ 14, 'stats:'",
    ),
]

BOUNDS = [
    Fault(
        "late leases with the same deadline are not compared",
        "lib/expired_leases",
        "EQUAL_AT_MOST = 100",
        "EQUAL_AT_MOST = 1",
    ),
    Fault(
        "a pop returns all jobs of other queues",
        "lib/reclaim_dead_worker",
        "OF_OTHER_QUEUES = 200, 32",
        "OF_OTHER_QUEUES = 200, 320",
    ),
    Fault(
        "a pop does not wait for the jobs of its own queue",
        "lib/reclaim_dead_worker",
        "queue_done = queue_done and queue_taken",
        "",
    ),
    Fault(
        "jobs of other queues come first",
        "lib/reclaim_dead_worker",
        "reclaim_jobs_of(worker, was_spared, queue, queue and",
        "reclaim_jobs_of(worker, was_spared, nil, queue and",
    ),
    Fault(
        "a sweep forgets the jobs that a dead worker still holds",
        "lib/reclaim_dead_worker",
        "all_done = all_done and all_taken",
        "",
    ),
    Fault("every caller has the turn", "lib/housekeeping_turn", "or turn_holder == caller", "or 1"),
    Fault(
        "the holder of a turn loses it", "lib/housekeeping_turn", " or turn_holder == caller", ""
    ),
    Fault(
        "a turn never ends by time", "lib/housekeeping_turn", "return turn_ends <= now or", "return"
    ),
    Fault(
        "a turn outlasts a clock that is set back",
        "lib/housekeeping_turn",
        " or turn_ends > now + TURN_LASTS",
        "",
    ),
    Fault("skipped calls are not counted", "lib/housekeeping_turn", "skips + 1", "skips"),
    Fault(
        "a turn is kept when all is done", "lib/housekeeping_turn", "redis.call('DEL', TURN)", ""
    ),
    Fault(
        "a busy pop seems to be final",
        "lib/pop_general",
        "    due = AGAIN_SOON\n",
        "",
    ),
    Fault(
        "pushed elements are taken although they are not needed",
        "lib/ingress",
        "return wanted > 0 and",
        "return",
    ),
    Fault(
        "pushed elements follow jobs of a worse priority",
        "lib/ingress",
        "'-inf', 0)",
        "'-inf', '+inf')",
    ),
    Fault("a huge element becomes a job", "lib/ingress", "#data > LONGEST_ELEMENT", "nil"),
    Fault("a reply has any size", "lib/hand_out", "if job.data == false then", "if nil then"),
    Fault(
        "one schedule takes all runs of a call",
        "lib/run_due_schedules",
        "math.ceil(runs_left / (#due - i + 1))",
        "runs_left",
    ),
    Fault(
        "a skipped interval is not counted",
        "lib/run_due_schedules",
        "schedule.skipped = schedule.skipped + skipped",
        "",
    ),
    Fault(
        "skipped cron runs are not counted",
        "lib/run_due_schedules",
        "schedule.skipped + 1 + #runs",
        "schedule.skipped + 1",
    ),
    Fault(
        "only the first gates are checked again",
        "lib/run_agenda",
        "recheck_gates(queue, cmsgpack.unpack(limits.rechecking))",
        "",
    ),
    Fault("a job may have any number of tags", "lib/tags", "tags and #tags > TAGS_AT_MOST", "nil"),
]

FAULTS = [
    *BOUNDS,
    *IMPORTS,
    *ORDER,
    *TIME,
    *LEASES,
    *SESSIONS,
    *BOOKS,
    *BULK,
    *RETENTION,
    *STATISTICS,
    *NOTICES,
    *MATCHING,
    *INGRESS,
    *LAKES,
]
