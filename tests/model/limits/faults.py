"""Faults to plant in the scripts of limits; see tests/model/jobs/faults.py."""

from __future__ import annotations

from tests.model.harness import Fault

FAULTS = [
    Fault("a key has no concurrency", "lib/gates", "limits.key_concurrency", "false"),
    Fault("a key has no rate", "lib/gates", "limits.key_rate", "false"),
    Fault(
        "a throttle allows one running job too many", "lib/gates", ">= concurrency", "> concurrency"
    ),
    Fault(
        "an expired lease counts as running",
        "lib/gates",
        "where, '(' .. now, '+inf')\nend",
        "where, '-inf', '+inf')\nend",
    ),
    Fault(
        "a rate allows one start too many",
        "lib/gates",
        "return left <= 0 and",
        "return left < 0 and",
    ),
    Fault(
        "a start does not use up the rate", "lib/lanes", "use_rate(gate, rate)", "rate_place(gate)"
    ),
    Fault(
        "a start does not use up the rate of its queue",
        "lib/lanes",
        "if limits.rate then",
        "if false then",
    ),
    Fault(
        "a changed rate keeps its old used tokens",
        "lib/change_limits",
        "if not used then",
        "if true then",
    ),
    Fault(
        "a changed rate of keys keeps its old used tokens",
        "lib/change_limits",
        "  if before == after then\n    return",
        "  if true then\n    return",
    ),
    Fault(
        "a changed rate forgets its used tokens",
        "lib/change_limits",
        "math.min(starts, tokens)",
        "0",
    ),
    Fault(
        "a lowered rate keeps more used tokens than it has",
        "lib/change_limits",
        "math.min(starts, tokens)",
        "tokens",
    ),
    Fault(
        "a changed rate of keys deletes the used tokens of the queue",
        "lib/change_limits",
        "  if own_used then",
        "  if false then",
    ),
    Fault(
        "a queue allows one running job too many",
        "lib/gates",
        "local room = shard",
        "local room = 1 + shard",
    ),
    Fault(
        "a freed gate is not checked",
        "lib/lanes",
        "    zset_remove(key('gate', gate), job.id)\n    free_gate(gate)",
        "",
    ),
    Fault(
        "a gate releases only one lane",
        "lib/lanes",
        "    look_again(queue, gate)\n    gate = ''\n",
        "    gate = ''\n",
    ),
    Fault(
        "a released lane that moves back leaves the other lanes parked",
        "lib/lanes",
        "(served or gate ~= '' and has_moved(turns, lane, turn, next_turn, first[2]))",
        "served",
    ),
    Fault(
        "a released lane that becomes empty leaves the other lanes parked",
        "lib/lanes",
        "turn .. lane)\n    look_again(queue, gate)\n",
        "turn .. lane)\n",
    ),
    Fault(
        "a released lane that is parked elsewhere leaves the other lanes parked",
        "lib/lanes",
        "look_again(queue, came_from)",
        "look_again(queue, '')",
    ),
    Fault(
        "the first instead of the last expired lease decides the turn of a lane",
        "lib/lanes",
        "served or before[3], false",
        "before[3] or served, false",
    ),
    Fault("fair scheduling has no effect", "lib/lanes", "settings(queue).fair == 1", "false"),
    Fault(
        "a heartbeat does not renew the deadlines at the gates",
        "ops/heartbeat",
        "renew_gates(job, score)",
        "refresh_lanes()",
    ),
    Fault(
        "a finished job still counts at its gates",
        "lib/job_states",
        "leave_gates(job)\n",
        "refresh_lanes()\n",
    ),
    Fault(
        "a new priority does not move the job within its lane",
        "lib/job_states",
        "  if is_in_lane(job) then\n    move_in_lane(job, job_member(job))\n  end\nend",
        "end",
    ),
    Fault(
        "a lane ignores that its first job moved back",
        "lib/lanes",
        "lane_of(job), false, false), name, job.priority)",
        "lane_of(job), false, name), name, job.priority)",
    ),
    Fault(
        "a lane ignores a new first job",
        "lib/lanes",
        "and first[1] ~= added then",
        "then",
    ),
    Fault(
        "a lane ignores several new jobs",
        "lib/lanes",
        "before[3], before[4] = served or before[3], false",
        "before[3] = served or before[3]",
    ),
    Fault(
        "a raised limit releases no lane", "lib/change_limits", "= 0, found[i]", "= 'inf', found[i]"
    ),
    Fault("a changed throttle releases no lane", "ops/throttle_set", "free_gate('t' .. name)", ""),
    Fault(
        "a throttle that ends releases no lane", "lib/change_limits", "free_gate('t' .. name)", ""
    ),
    Fault(
        "jobs that waited before the queue had lanes never start",
        "lib/change_limits",
        "key('waiting', queue)) == 1 then",
        "key('waiting', queue)) == 2 then",
    ),
    Fault(
        "a late job ignores its limits",
        "lib/expired_leases",
        "and closed_gate_of(job) then",
        "and false then",
    ),
    Fault(
        "an empty lane stays parked",
        "lib/lanes",
        "    leave_parked(queue, lane, turn, gate)\n  else",
        "  else",
    ),
]
