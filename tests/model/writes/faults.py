"""Faults to plant in the scripts of writes: stage, prepare, commit, publish and discard."""

from __future__ import annotations

from tests.model.harness import Fault

WRITE_FAULTS = [
    Fault("a chunk is staged twice", "ops/stage", "position >= there", "true"),
    Fault(
        "a prepared attempt accepts more chunks", "ops/stage", "not is_unclaimed(attempt)", "false"
    ),
    Fault("a gap in a staged attempt is accepted", "ops/stage", "there < position", "false"),
    Fault(
        "unclaimed rows never expire", "ops/stage", "now + STAGED_FOR", "now + 1000 * STAGED_FOR"
    ),
    Fault("prepared rows expire", "ops/prepare", "zset_remove(AGENDA, staged_entry(attempt))", ""),
    Fault("missing chunks are prepared", "ops/prepare", "== chunks", "~= nil"),
    Fault("an aborted transaction is prepared", "ops/prepare", "'aborted' then", "'' then"),
    Fault(
        "a committed transaction is prepared again", "ops/prepare", "state ~= 'prepared'", "false"
    ),
    Fault("a write is committed twice", "ops/commit", ">= batch then", "> batch then"),
    Fault("an earlier batch is committed", "ops/commit", ">= batch then", "== batch then"),
    Fault(
        "an unprepared transaction is committed", "ops/commit", "~= 'prepared' then", "== '' then"
    ),
    Fault(
        "a committed transaction can be discarded",
        "ops/discard",
        "state == 'committed' or state == 'published'",
        "false",
    ),
    Fault(
        "an attempt of another transaction is discarded",
        "ops/discard",
        "if is_unclaimed(attempt) then",
        "if 1 then",
    ),
    Fault(
        "an uncommitted transaction is published",
        "ops/publish",
        "'prepared' and is_coordinator",
        "''",
    ),
    Fault(
        "an aborted transaction is published", "ops/publish", "state == 'aborted' then", "nil then"
    ),
    Fault(
        "a chunk is published again", "lib/staged_chunks", "drop_chunk(transaction, attempt)", ""
    ),
    Fault(
        "the last chunk is forgotten",
        "lib/transactions",
        "redis.call('EXISTS', where) == 0",
        "true",
    ),
    Fault(
        "the agenda aborts a committed transaction",
        "lib/recover_transaction",
        "state == 'committed'",
        "false",
    ),
    Fault("the agenda stops publishing", "lib/recover_transaction", "now + PAUSE", "now + 10 ^ 12"),
    Fault(
        "an aborted transaction is forgotten",
        "lib/transactions",
        "elseif is_coordinator then",
        "elseif nil then",
    ),
    Fault(
        "a committed transaction is not put on the agenda",
        "ops/commit",
        "mark_in_progress(transaction)",
        "",
    ),
    Fault(
        "the commit log misses the end of a write",
        "lib/commit_log",
        "'state', 'published'",
        "'state', 'x'",
    ),
    Fault(
        "a write is finalized before it is published",
        "ops/finalize",
        "== 'published' then",
        "~= '' then",
    ),
    Fault("lost rows are not reported", "lib/commit_log", "missing > 0", "missing > 1e9"),
    Fault("existing rows are reported as lost", "lib/commit_log", "missing > 0", "missing >= 0"),
    Fault(
        "an entry of the commit log expires too soon",
        "lib/commit_log",
        "if is_published(write)",
        "if true",
    ),
    Fault(
        "an entry of the commit log never expires",
        "lib/commit_log",
        "or RECORDS_FOR",
        "or 1000 * RECORDS_FOR",
    ),
    Fault("skipped rows are counted as made", "lib/staged_chunks", "or 'skipped'", "or 'made'"),
    Fault(
        "options of rows are lost",
        "lib/staged_chunks",
        "create_job(queue, id, data, own)",
        "create_job(queue, id, data)",
    ),
    Fault("the policy of a write is ignored", "lib/staged_chunks", "put_policy = policy", ""),
    Fault("payloads are cut wrong", "lib/staged_chunks", "at + length)", "at + length + 1)"),
    Fault(
        "staged attempts have no order",
        "ops/prepare",
        "'ZADD', attempts, order",
        "'ZADD', attempts, 0",
    ),
]
