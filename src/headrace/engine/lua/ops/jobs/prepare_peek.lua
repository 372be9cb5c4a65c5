-- prepare_peek: do the work that a pop does before it hands out jobs, so that peek finds all jobs. Delayed jobs
-- that are due become waiting, due schedules create jobs, and jobs of dead workers return to their queues. Lanes
-- that are parked at a gate leave the gate if it may be open, and some elements of the ingress list become jobs.
--
-- args   queue
-- flags  allow-oom
-- uses   settings sorted_sets lanes reclaim_dead_worker promote_due_jobs run_due_schedules ingress write_back
-- reply  1 if only elements of the ingress list may be left, else 0

local GATES_AT_MOST = 100

local done = reclaim_dead_workers(queue) and promote_due_jobs(queue) and run_due_schedules(queue)
drain_ingress(queue)
flush_zsets()
if settings(queue).governed then
  refresh_lanes()
  open_gates(queue, GATES_AT_MOST)
end
return write_back(done and 1 or 0)
