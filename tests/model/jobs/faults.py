"""Faults to plant in the job scripts, one at a time; the walks and checks must catch each.

If the text of a fault is no longer in its file, a test fails: then plant the same fault in the new
code.
"""

from __future__ import annotations

from tests.model.harness import Fault

ORDER = [
    Fault(
        "equal priorities are not served by age",
        "lib/set_members",
        "numbered(job.seq,",
        "numbered(0,",
    ),
    Fault(
        "a plain job is not put by age",
        "lib/plain_put",
        "places[2 * i] = numbered(seq,",
        "places[2 * i] = numbered(0,",
    ),
    Fault(
        "one job is not put by age",
        "lib/plain_put",
        "score, numbered(seq, id))\n  count",
        "score, numbered(0, id))\n  count",
    ),
    Fault("the back is the front", "lib/return_job", "position == 'back'", "position == 'front'"),
    Fault(
        "what returns has no priority", "lib/job_states", "'waiting', job.priority", "'waiting', 0"
    ),
    Fault(
        "a new priority changes no place",
        "lib/job_states",
        "zset_add(key('waiting', job.queue), job_member(job), job.priority)",
        "zset_add(key('waiting', job.queue), job_member(job), 0)",
    ),
    Fault("peek prepares for nothing due", "lib/next_jobs", "<= now then", "< 0 then"),
    Fault("peek passes nothing over", "ops/peek", "job.remaining <= 0", "job.remaining < -9"),
]

TIME = [
    Fault(
        "a lease lasts too long",
        "lib/pop_general",
        "'ZCOUNT', where, '-inf', now)",
        "'ZCOUNT', where, '-inf', now - 1)",
    ),
    Fault("a plain pop comes too soon", "lib/plain_pop", "due <= now", "due < now"),
    Fault("due too late", "lib/promote_due_jobs", "'-inf', now,", "'-inf', now - 1,"),
    Fault(
        "the end of sessions is not foreseen",
        "lib/pop_general",
        ", SESSIONS, key('gated', queue),",
        ", key('gated', queue),",
    ),
    Fault("what is scheduled never expires", "lib/run_agenda", " or job.state == 'scheduled'", ""),
    Fault("one duty a call", "lib/run_agenda", "AGENDA_AT_MOST = 16", "AGENDA_AT_MOST = 1"),
    Fault("a heartbeat renews nothing", "ops/heartbeat", "now + span", "now"),
    Fault("new data are not told", "lib/events", "elseif data then", "elseif nil then"),
    Fault("a result has the time of its queue", "lib/results", "extra(job, 'result_ttl') or ", ""),
]

LEASES = [
    Fault("any token will do", "lib/check_lease", "token == job.token", "token ~= ''"),
    Fault("a plain complete sees no token", "lib/plain_complete", "token ~= tokens[i] or ", ""),
    Fault("attempts are not counted", "lib/plain_pop", "pack(attempt, rem", "pack(1, rem"),
    Fault(
        "a plain pop does not begin to run",
        "lib/plain_pop",
        "at_since) .. since",
        "at_since) .. '\\0'",
    ),
    Fault("a plain job has no retries", "lib/plain_put", "pack(now, retries)", "pack(now, 0)"),
    Fault("one job has no retries", "lib/plain_put", "seq, now, retries", "seq, now, 0"),
    Fault(
        "the log contains data that it must not contain",
        "lib/short_path",
        "if #data > largest",
        "if false",
    ),
    Fault("a plain pop forgets attempts", "lib/plain_pop", "(attempt or 0) + 1", "1"),
    Fault("a plain pop gives retries back", "lib/plain_pop", "if remaining == nil", "if remaining"),
    Fault(
        "no history is stored",
        "lib/job_packing",
        "initial_fields(job), HISTORY",
        "initial_fields(job), HISTORY - 1",
    ),
    Fault("a lost lease costs nothing", "lib/return_job", "job.remaining - 1", "job.remaining"),
    Fault("one retry too many", "lib/return_job", "job.remaining <= 0", "job.remaining < 0"),
    Fault("a retried job has no new budget", "ops/retry", "job.remaining = job.retries", ""),
    Fault(
        "a job is handed out twice",
        "lib/expired_leases",
        "job.token ~= job.attempt",
        "'' ~= job.attempt",
    ),
    Fault(
        "a running job is replaced",
        "lib/put_existing_id",
        "or policy == 'replace' and job.state == 'running'",
        "",
    ),
    Fault("a repeated put happens twice", "lib/put_existing_id", "== put_nonce", "== 'nonce'"),
    Fault("a former holder still holds the job", "ops/check_leases", " and job.token == token", ""),
    Fault("what is over is held", "ops/check_leases", "job.state == 'running' and ", ""),
    Fault("what is gone is held", "ops/check_leases", "'cancelled'", "'held'"),
    Fault("pause is not heard", "lib/pop_general", "limits.paused == 1", "limits.paused == 2"),
]

SESSIONS = [
    Fault("a session lives too long", "lib/sessions", "> now", ">= now"),
    Fault(
        "any session may pop",
        "ops/pop",
        "or session_mode == 'required' and not redis.call('ZSCORE', key('serves', worker), queue)",
        "",
    ),
    Fault(
        "a session ends what it has no say in",
        "lib/sessions",
        "not settings(job.queue).session",
        "false",
    ),
    Fault(
        "nobody holds what runs",
        "lib/job_states",
        "zset_add(key('held', job.worker), held_member(job), 0)",
        "",
    ),
    Fault(
        "what is over is still held",
        "lib/job_states",
        "zset_remove(key('held', job.worker), held_member(job))",
        "",
    ),
    Fault(
        "a plain job is held when over",
        "lib/plain_complete",
        "redis.call('ZREM', key('held', worker), unpack(held))",
        "",
    ),
]

BOOKS = [
    Fault(
        "a move is not booked",
        "lib/change_queue",
        "leave_state(job)\n  book(job.queue, 'moved', 1)",
        "leave_state(job)",
    ),
    Fault("a plain pop is not booked", "lib/plain_pop", "'running', popped", "'running', 0"),
    Fault("what is pruned is not booked", "lib/completed_jobs", "book(queue, 'pruned', #ids)", ""),
    Fault("a failed job stays on its list", "lib/failures", "list_failure(job, -1)", ""),
    Fault("a deleted queue leaves its books", "ops/delete_queue", "'books', ", ""),
    Fault("the audit sees no other queue", "ops/audit_members", " or job.queue ~= queue", ""),
    Fault("the audit sees no holder", "ops/audit_members", "if started and", "if false and"),
    Fault("the audit finds nobody", "ops/audit_jobs", "reply[#reply + 1] =", "local _ ="),
]

BULK = [
    Fault(
        "failed jobs of other queues match", "ops/find_failed", "or job.queue == queue", "or true"
    ),
    Fault(
        "failed jobs without the tag match",
        "ops/find_failed",
        "is_among(extra(job, 'tags'), tag)",
        "true",
    ),
    Fault("what failed later matches", "ops/find_failed", "tonumber(at) > last", "false"),
    Fault(
        "what failed anew is retried",
        "ops/retry",
        "failed_at and failed_at ~= extra(job, 'failure')[3]",
        "false",
    ),
    Fault("what is not failed is taken along", "ops/requeue", "job.state ~= state", "false"),
    Fault(
        "what failed anew is cancelled",
        "ops/cancel",
        "wanted == extra(job, 'failure')[3]",
        "true",
    ),
    Fault(
        "what others depend on is cancelled in bulk",
        "ops/cancel",
        "held_back[#held_back + 1] = others[1] and id",
        "local _ = nil",
    ),
    Fault("what is in another state is cancelled", "ops/cancel", "wanted == job.state", "true"),
    Fault(
        "what depends on what stays is cancelled from under it",
        "ops/cancel",
        "ipairs(parents[id] or {})",
        "ipairs({})",
    ),
]

RETENTION = [
    Fault(
        "one too many is kept",
        "lib/completed_jobs",
        "redis.call('ZCARD', kept) - limits.keep_count",
        "redis.call('ZCARD', kept) - limits.keep_count - 1",
    ),
    Fault(
        "kept too long",
        "lib/completed_jobs",
        "'ZRANGE', kept, '-inf', now -",
        "'ZRANGE', kept, '-inf', now - 1 -",
    ),
    Fault("a plain complete prunes nothing", "lib/plain_complete", "or kept >", "or 0 >"),
    Fault("a complete prunes nothing", "lib/completed_jobs", "or kept >", "or 0 >"),
    Fault("age prunes nothing", "lib/completed_jobs", "kept <= added or", ""),
    Fault("a message is cut within a letter", "lib/failures", "size > 0 and", "false and"),
    Fault(
        "a history keeps whole messages",
        "lib/failures",
        "'failed', kind, short",
        "'failed', kind, message",
    ),
    Fault(
        "a retried job keeps whole messages",
        "ops/fail",
        "}, failure, short, data)",
        "}, failure, message, data)",
    ),
    Fault(
        "a dull failure keeps the traceback before",
        "lib/failures",
        "redis.call('HDEL', notes, 'error')",
        "",
    ),
    Fault("a history loses its beginning", "lib/job_history", "math.min(2, #entries)", "1"),
]

STATISTICS = [
    Fault("a minute is a second", "lib/statistics", "seconds < 60 then", "seconds <= 60 then"),
    Fault("a quarter of an hour has ten minutes", "lib/statistics", "/ 900", "/ 600"),
    Fault(
        "the variance is that of another mean",
        "lib/statistics",
        "(x - mean) * (x - before)",
        "(x - mean) * (x - mean)",
    ),
    Fault("retries are not counted", "lib/return_job", "observe(job.queue, 'retries')", ""),
    Fault(
        "what was deleted ran",
        "lib/hand_out",
        "emit('completed', job)",
        "emit('completed', job, nil, 0)",
    ),
    Fault("who closes seems to die", "ops/session_end", "'session closed'", "'session ended'"),
    Fault("a requeued job has no tags", "ops/requeue", "if extra(job, 'tags')", "if false"),
    Fault("a tally of no day", "ops/day_totals", "wanted < 0", "wanted < -1"),
    Fault("totals of another time", "ops/day_totals", "or 0), wanted", "or 0) - 1, wanted"),
]

TIDINGS = [
    Fault("events with holes", "lib/events", "number = number + 1", "number = number + 2"),
    Fault("plain events have no number", "lib/short_path", "number > first_number", "false"),
    Fault("one event leaves a hole", "lib/events", "'number', number,", "'number', number + 1,"),
    Fault("no worker is woken for one job", "lib/plain_put", "'work 1'", "'rest 1'"),
    Fault("one job is in no lane", "lib/plain_put", "if job_key or governed then", "if nil then"),
    Fault("jobs are in no lane", "lib/plain_put", "(job_key or governed) and", "nil and"),
    Fault("a job is in the lane of all", "lib/plain_put", "job_key and job_key ..", "nil and"),
    Fault("a new first job changes no lane", "lib/plain_put", "and lane or nil", "and nil or nil"),
    Fault("a put forgets a key", "lib/plain_put", "key = job_key }", "key = nil }"),
    Fault("a changed lane is forgotten", "lib/write_back", "if left.changed_lane", "if nil"),
    Fault(
        "one job goes past an offer",
        "lib/plain_put",
        "= offer and not options and",
        "= false and",
    ),
    Fault("a put ignores due jobs", "lib/short_path", "'-inf', now) > 0", "'-inf', 0) > 0"),
    Fault(
        "a late put takes a job from its holder",
        "lib/put_general",
        "elseif job and put_nonce == '' then",
        "elseif nil then",
    ),
    Fault("a put forgets a priority", "lib/plain_put", "options.priority or 0", "0"),
    Fault("a put forgets retries", "lib/plain_put", "retries = options.retries", "retries = 5"),
    Fault("a put forgets tags", "lib/plain_put", "{ tags = tags,", "{ tags = {},"),
    Fault("a put does not list tags", "lib/plain_put", "list_tags(tags, { now, id }, 1)", ""),
    Fault(
        "puts do not list tags",
        "lib/plain_put",
        "list_tags(tags, scored_ids(ids, string.format('%d', now)), #ids)",
        "",
    ),
    Fault(
        "puts forget a priority",
        "lib/plain_put",
        "places[2 * i - 1] = priority",
        "places[2 * i - 1] = 0",
    ),
    Fault("a late put hands a held job over", "lib/hand_over", "'SETNX', job_", "'SET', job_"),
    Fault("a due job sends no notice", "lib/promote_due_jobs", "emit('due', job)", ""),
    Fault("a holder is not told", "lib/return_job", "notify_worker(job, 'lost')", ""),
    Fault("nobody is woken", "lib/job_states", "wake(job.queue, 1)", ""),
    Fault(
        "an offer is taken up twice",
        "lib/hand_over",
        "return false\n  end\n  redis.call('HDEL', key('settings', queue), 'idle')",
        "return false\n  end",
    ),
    Fault(
        "a job is handed past others",
        "lib/hand_over",
        "redis.call('EXISTS', key('waiting', queue), key('ingress', queue)) == 0",
        "true",
    ),
    Fault(
        "a job is handed to the dead",
        "lib/hand_over",
        "tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) > now",
        "true",
    ),
    Fault(
        "a handed job is not booked",
        "lib/hand_over",
        "redis.call('HINCRBY', key('books', queue), 'running', '1')",
        "",
    ),
    Fault(
        "a handed job is not held",
        "lib/hand_over",
        "redis.call('ZADD', key('held', worker), '0', queue .. '\\0' .. id)",
        "",
    ),
    Fault(
        "a handed job has not waited",
        "lib/hand_over",
        "queue, 'wait', { 0 })",
        "queue, 'wait', {})",
    ),
    Fault(
        "an earlier due time sends no notice", "lib/job_states", "announce_due(queue, score)", ""
    ),
    Fault("no worker is woken for plain jobs", "lib/plain_put", "'work ' ..", "'rest ' .."),
    Fault("a sweep sees what is gone", "ops/sweep", "flush_zsets()", ""),
    Fault("a worker is woken without a job", "lib/pop_general", "wake(queue, -#granted)", ""),
    Fault("nobody hears of the end", "lib/complete_general", "notify_finished(job.id)", ""),
]

MATCHING = [
    Fault(
        "what has failed is cancelled by value",
        "lib/find_by_payload",
        "'running' }",
        "'running', 'failed' }",
    ),
    Fault("what is scheduled is passed over", "lib/find_by_payload", "'scheduled', ", ""),
    Fault(
        "an ending is the whole", "lib/find_by_payload", "return job.data == data", "return true"
    ),
    Fault("equal is what is as long", "lib/find_by_payload", " and payload(job) == data", ""),
    Fault("an id is a place in the line", "lib/set_members", "name_in(found[i])", "found[i]"),
    Fault("a step looks at too many", "lib/find_by_payload", "left - #found / 2", "left"),
    Fault("a state is begun in the middle", "lib/find_by_payload", "after = nil", ""),
    Fault("a search begins anew", "lib/find_by_payload", "pack({ at,", "pack({ 1,"),
    Fault("the queue does not hear", "ops/cancel_matching", "'cancelled ' .. data", "'work 0'"),
    Fault("what comes later is told", "ops/scan_jobs", "tonumber(found[i + 1]) > highest", "false"),
    Fault("the rest is not told", "ops/scan_jobs", "after and cmsgpack", "false and cmsgpack"),
    Fault("a page begins too soon", "lib/scan_set", "low = middle + 1", "low = high"),
]

INGRESS = [
    Fault("the newest is taken in first", "lib/ingress", "'RPOP'", "'LPOP'"),
    Fault("what was pushed stays", "lib/ingress", "'RPOP', where, PIECE", "'LRANGE', where, 0, 0"),
    Fault("every queue is a ring", "lib/ingress", "settings(queue).ingress == 'id'", "true"),
    Fault("no queue is a ring", "lib/ingress", "shards == '1'", "shards == '0'"),
    Fault("a known id is a new job", "lib/ingress", "if not read_job(id) then", "do"),
    Fault("ids of users are taken", "lib/ingress", "until not read_job(id)", "until id"),
    Fault("a name has no end", "lib/ingress", "250", "251"),
    Fault("nothing is a name", "lib/ingress", "bytes == '' or ", ""),
    Fault(
        "a plain pop sees no list", "lib/short_path", "key('ingress', queue)) == 1", "queue) == 1"
    ),
    Fault(
        "a plain pop sees no list alone", "lib/short_path", ", key('ingress', queue)) > 0", ") > 0"
    ),
    Fault("a pop sees no list alone", "lib/pop_general", ", key('ingress', queue)) > 0", ") > 0"),
    Fault(
        "a plain pop sees nothing scheduled",
        "lib/short_path",
        "first_score(key('scheduled', queue)),",
        "math.huge,",
    ),
    Fault("peek sees no list", "ops/prepare_peek", "\ndrain_ingress(queue)", ""),
    Fault(
        "peek prepares for no list",
        "lib/next_jobs",
        "'EXISTS', key('ingress'",
        "'EXISTS', key('data'",
    ),
    Fault("a sweep sees no list", "ops/sweep", "drain_ingress(queue) and done", "done"),
    Fault("a list outlives its queue", "ops/delete_queue", "'days', 'ingress', ", "'days', "),
]

LAKES = [
    Fault(
        "the first lake decides",
        "lib/trim_event_log",
        "event_number < lowest",
        "event_number > lowest",
    ),
    Fault("lakes keep nothing from going", "lib/trim_event_log", "if kept then", "if false then"),
    Fault("age knows no lakes", "lib/trim_event_log", "oldest_ms <= kept_ms and", "true and"),
    Fault(
        "numbers know no lake",
        "lib/trim_event_log",
        "select(2, entry_parts(newest)) - limits.events_count > kept_number",
        "false",
    ),
    Fault("too much goes", "lib/trim_event_log", "+ 1)\n  trim(", "+ 300)\n  trim("),
    Fault("what lakes have stays", "lib/trim_event_log", "    trim('MINID', after_kept)\n", ""),
    Fault("there is no cap", "lib/trim_event_log", "    trim_forced(limits, kept_number)\n", ""),
    Fault(
        "a cap comes before a number",
        "lib/trim_event_log",
        "math.max(limits.events_count, limits.events_cap)",
        "limits.events_cap",
    ),
    Fault(
        "what is forced is not counted", "lib/trim_event_log", "'dropped', dropped", "'dropped', 0"
    ),
    Fault(
        "what lakes have is dropped too",
        "lib/trim_event_log",
        "math.max(oldest_number, kept_number + 1)",
        "oldest_number",
    ),
    Fault(
        "what has gone is counted twice",
        "lib/trim_event_log",
        "  trimmed, more = 0, false\n",
        "  trimmed, more = trimmed or 0, false\n",
    ),
    Fault("what is left is due in a week", "lib/trim_event_log", "more and now or", "false or"),
    Fault("a mark falls", "ops/mark_lake", "marked > select(2, entry_parts(before))", "true"),
    Fault("a mark lets nothing go", "ops/mark_lake", "  trim_event_log()\n", ""),
    Fault("a lake may be ahead", "ops/mark_lake", "marked > newest_number", "false"),
    Fault(
        "any entry may be marked",
        "ops/mark_lake",
        "elseif not is_of_this_log",
        "elseif not tostring",
    ),
    Fault("a forgotten lake keeps all", "ops/forget_lake", "  trim_event_log()\n", ""),
    Fault("a seek ends too early", "ops/seek_events", "low = middle + 1", "low = high"),
    Fault("a seek ends too late", "ops/seek_events", "reached >= wanted", "reached > wanted"),
]

ADOPTED = [
    Fault(
        "what came comes again",
        "ops/import_jobs",
        "before[at] or taken[import_id]",
        "taken[import_id]",
    ),
    Fault("an id is taken over", "ops/import_jobs", "not job and id", "id"),
    Fault(
        "what came is not remembered",
        "lib/imported_ids",
        "if #imported_now > 0 then",
        "if nil then",
    ),
    Fault(
        "what came is never forgotten",
        "lib/run_agenda",
        "key('imported', import)",
        "key('days', import)",
    ),
    Fault("a line has no order", "ops/import_jobs", "job.seq = emit_put", "job.seq = 0 * emit_put"),
    Fault("all was put now", "ops/import_jobs", "about.put_at or now", "now"),
    Fault("all failed now", "ops/import_jobs", "known_at > 0 and known_at or now", "now"),
    Fault("all ended now", "ops/import_jobs", "about.ended or now", "now"),
    Fault("the past of a job is forgotten", "ops/import_jobs", "#entries > 0 and entries", "false"),
    Fault("cancels are not counted", "ops/import_jobs", "about.releases)", "nil)"),
    Fault("nobody put it", "ops/import_jobs", "  book(queue, 'put', 1)\n", ""),
    Fault("a stranger is the parent", "ops/import_jobs", "if about.parents then", "if nil then"),
    Fault("a parent is missing", "ops/import_jobs", "taken[parents[i]] or id", "id"),
    Fault("nobody tracks it", "ops/import_jobs", "if about.tracked then", "if nil then"),
    Fault("an ended schedule comes again", "ops/schedule", "import_id })[1]", "import_id })[2]"),
    Fault("a schedule is taken over", "ops/schedule", "(old or imported_as", "(imported_as"),
    Fault("an item comes again", "ops/import_items", "not before[at] and ", ""),
    Fault("a number is given twice", "ops/import_items", "      raise_counter(id)\n", ""),
    Fault("a bound is passed", "ops/import_items", "and not is_sorted then", "and nil then"),
    Fault(
        "a day is never forgotten",
        "lib/statistics",
        "limits.stats_age, 'stats:'",
        "10 ^ 14, 'stats:'",
    ),
]

FAULTS = [
    *ADOPTED,
    *ORDER,
    *TIME,
    *LEASES,
    *SESSIONS,
    *BOOKS,
    *BULK,
    *RETENTION,
    *STATISTICS,
    *TIDINGS,
    *MATCHING,
    *INGRESS,
    *LAKES,
]
