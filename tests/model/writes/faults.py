"""Faults to plant in the scripts of writes: stage, prepare, decide, publish and discard."""

from __future__ import annotations

from tests.model.harness import Fault

WRITE_FAULTS = [
    Fault("a chunk is staged twice", "ops/stage", "position >= there", "true"),
    Fault(
        "a bundle grows after it was prepared", "ops/stage", "not is_unclaimed(attempt)", "false"
    ),
    Fault("a gap in a parcel is not noticed", "ops/stage", "there < position", "false"),
    Fault("what nobody wants stays", "ops/stage", "now + STAGED_FOR", "now + 1000 * STAGED_FOR"),
    Fault("what is prepared goes", "ops/prepare", "zset_remove(AGENDA, staged_entry(attempt))", ""),
    Fault("what is not there is prepared", "ops/prepare", "== chunks", "~= nil"),
    Fault("what was given up is prepared", "ops/prepare", "'aborted' then", "'' then"),
    Fault("what was decided is prepared", "ops/prepare", "state ~= 'prepared'", "false"),
    Fault("a write is decided twice", "ops/commit", ">= batch then", "> batch then"),
    Fault("an earlier batch is decided", "ops/commit", ">= batch then", "== batch then"),
    Fault("what is not prepared is decided", "ops/commit", "~= 'prepared' then", "== '' then"),
    Fault(
        "what is decided can be discarded",
        "ops/discard",
        "state == 'committed' or state == 'published'",
        "false",
    ),
    Fault("a parcel of another goes", "ops/discard", "if is_unclaimed(attempt) then", "if 1 then"),
    Fault("what is not decided is published", "ops/publish", "'prepared' and is_coordinator", "''"),
    Fault("what was given up is published", "ops/publish", "state == 'aborted' then", "nil then"),
    Fault(
        "a chunk is published again", "lib/publish_chunk", "drop_chunk(transaction, attempt)", ""
    ),
    Fault(
        "the last chunk is forgotten",
        "lib/transactions",
        "redis.call('EXISTS', where) == 0",
        "true",
    ),
    Fault(
        "the agenda gives up what was decided",
        "lib/recover_transaction",
        "state == 'committed'",
        "false",
    ),
    Fault("the agenda does not go on", "lib/recover_transaction", "now + PAUSE", "now + 10 ^ 12"),
    Fault(
        "nothing is left of what was given up",
        "lib/transactions",
        "elseif is_coordinator then",
        "elseif nil then",
    ),
    Fault("nobody looks after what was decided", "ops/commit", "mark_in_progress(transaction)", ""),
    Fault(
        "the end of a write is not told", "lib/commit_log", "'state', 'published'", "'state', 'x'"
    ),
    Fault("a write is over before its end", "ops/finalize", "== 'published' then", "~= '' then"),
    Fault("rows are lost unnoticed", "lib/commit_log", "missing > 0", "missing > 1e9"),
    Fault("what is there is called lost", "lib/commit_log", "missing > 0", "missing >= 0"),
    Fault("a write is forgotten too soon", "lib/expire_write", "is_published(write)", "true"),
    Fault(
        "an entry of the ledger stays", "lib/commit_log", "or RECORDS_FOR", "or 1000 * RECORDS_FOR"
    ),
    Fault("what is skipped is not counted", "lib/publish_rows", "or 'skipped'", "or 'made'"),
    Fault("options of rows are lost", "lib/publish_rows", "data, own, nonce", "data, nil, nonce"),
    Fault("the policy of a write is not kept", "lib/publish_rows", "on_exists = policy", ""),
    Fault("payloads are cut wrong", "lib/publish_chunk", "at + length)", "at + length + 1)"),
    Fault("parcels have no order", "ops/prepare", "'ZADD', attempts, order", "'ZADD', attempts, 0"),
]
