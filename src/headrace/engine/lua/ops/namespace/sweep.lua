-- sweep: do one round of housekeeping, which any client may start. Jobs of dead workers return to their queues.
-- In the queues that the call names, delayed jobs that are due become waiting, and due schedules create jobs. All
-- elements of the ingress lists become jobs. Completed jobs beyond the retention, and outdated entries of rate
-- limits, are deleted. Workers are woken if leases have expired.
--
-- each   queue
-- flags  allow-oom
-- uses   keys now reclaim_dead_worker promote_due_jobs run_due_schedules ingress sorted_sets notices
-- uses   completed_jobs run_agenda job_finished write_back work_budget
-- reply  1 if no housekeeping is left, else 0

local QUEUES_PRUNED_AT_MOST = 4
local RATES_PRUNED_AT_MOST = 500
local pruned = 0

local _, done = reclaim_dead_workers()
flush_zsets()
for queue in each() do
  if work_left(1) == 0 then
    done = false
    break
  end
  done = promote_due_jobs(queue) and done
  done = run_due_schedules(queue) and done
  done = drain_ingress(queue) and done
  local late = redis.call('ZCOUNT', key('running', queue), '-inf', now)
  if late > 0 then
    wake(queue, late)
  end
  if pruned < QUEUES_PRUNED_AT_MOST and has_excess_completed(queue) then
    prune_completed(queue)
    pruned = pruned + 1
  end
  done = done and not has_excess_completed(queue)
  local unused = redis.call('ZRANGE', key('rates', queue), '-inf', string.format('%.0f', 1000 * now),
    'BYSCORE', 'LIMIT', 0, RATES_PRUNED_AT_MOST)
  if #unused > 0 then
    redis.call('ZREM', key('rates', queue), unpack(unused))
  end
  done = done and #unused < RATES_PRUNED_AT_MOST
end
done = run_agenda() and done and not unlocking
return write_back(done and 1 or 0)
