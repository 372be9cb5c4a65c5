"""Faults to plant in the scripts for repeated calls, one at a time."""

from __future__ import annotations

from tests.model.harness import Fault

ANSWERS = [
    Fault("no answer is found again", "lib/remembered_answers", "if known then", "if nil then"),
    Fault(
        "an older answer is not found",
        "lib/remembered_answers",
        " or redis.call('HGET', OLDER_ANSWERS, name)",
        "",
    ),
    Fault(
        "a refusal is remembered",
        "lib/remembered_answers",
        "if has_effect and not is_refused(answer) then",
        "if has_effect then",
    ),
    Fault(
        "one accepted row among refused rows is not enough",
        "lib/remembered_answers",
        "    if not is_refusal(one) then\n      return false",
        "    if not is_refusal(one) then\n      return true",
    ),
    Fault(
        "answers are never deleted",
        "lib/remembered_answers",
        "if total == size then",
        "if nil then",
    ),
    Fault(
        "older answers stay", "lib/remembered_answers", "redis.call('UNLINK', OLDER_ANSWERS)", ""
    ),
    Fault(
        "answers are kept too briefly",
        "lib/remembered_answers",
        "REMEMBERED_MS = 300000",
        "REMEMBERED_MS = 100000",
    ),
    Fault(
        "the newer answers are not deleted in time",
        "lib/run_agenda",
        "zset_add(AGENDA, 'answers:', now + REMEMBERED_MS)",
        "",
    ),
    Fault(
        "answers are not counted",
        "lib/remembered_answers",
        "HINCRBY', ANSWERS, '', size",
        "HINCRBY', ANSWERS, '', 0",
    ),
    Fault(
        "a full hash replaces nothing",
        "lib/remembered_answers",
        "if total <= FULL then",
        "if true then",
    ),
    Fault(
        "older answers are deleted early",
        "lib/remembered_answers",
        "    redis.call('ZADD', AGENDA, now + REMEMBERED_MS, 'answers:')\n  else",
        "  else",
    ),
]

PROOFS = [
    Fault("a deleted job has no proof", "lib/job_states", "keep_proofs(job)", ""),
    Fault("a pruned job has no proof", "lib/completed_jobs", "keep_proofs(job)", ""),
    Fault("a requeued job has no proof", "lib/change_queue", "keep_proof_of_completion(job)", ""),
    Fault("proofs are not written", "lib/write_back", "remember(proofs)", ""),
    Fault("the proof of a put is not read", "lib/put_general", " or was_created(id)", ""),
    Fault(
        "a plain put does not read the proof",
        "lib/plain_put",
        " or was_created(id)",
        "",
    ),
    Fault(
        "any deleted job was completed",
        "lib/remembered_answers",
        "remembered(token .. ':' .. id)",
        "remembered('put:' .. id)",
    ),
    Fault(
        "the proof of a completion is not kept",
        "lib/remembered_answers",
        "    keep_proof_of_completion(job)\n",
        "",
    ),
]

POPS = [
    Fault(
        "a lost pop without a deadline is not found",
        "lib/resume_pop",
        "grant_again(string.format('%d', endless_score(pop_secret)))",
        "",
    ),
    Fault(
        "a lost pop with a deadline is not found",
        "lib/resume_pop",
        "    cursor = after\n  end\n",
        "    return nil\n  end\n",
    ),
    Fault(
        "a repeated pop gets the jobs of others",
        "lib/resume_pop",
        " and job.token == job.attempt .. '.' .. pop_secret",
        "",
    ),
    Fault(
        "endless leases share a score",
        "lib/endless_leases",
        "ENDLESS + struct",
        "ENDLESS + 0 * struct",
    ),
    Fault(
        "a heartbeat moves an endless lease",
        "ops/heartbeat",
        "math.max(score, ENDLESS)",
        "ENDLESS",
    ),
    Fault(
        "an endless lease seems to end",
        "lib/endless_leases",
        "return score < ENDLESS and score or math.huge",
        "return score",
    ),
]

FAULTS = [*ANSWERS, *PROOFS, *POPS]
