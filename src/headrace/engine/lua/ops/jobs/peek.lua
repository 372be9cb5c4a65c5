-- peek: list the next jobs in the order in which pop would hand out these jobs. If a pop would do housekeeping
-- first, the list is complete only after a call of `prepare_peek`.
--
-- args   queue count:int
-- flags  no-writes
-- uses   expired_leases next_jobs describe_jobs
-- reply  {1 if a pop would do other work first else 0, described job, ...}

-- A pop does not hand out a job without retries left, so more jobs are read.
local LATE_AT_LEAST = 1000

local ids = {}
for _, late in ipairs((expired_leases(queue, math.max(count, LATE_AT_LEAST)))) do
  local job = late[1]
  if #ids < count and not (job.retries and job.remaining <= 0) then
    ids[#ids + 1] = job.id
  end
end
list_next_jobs(queue, count, ids)
return describe_jobs(ids, { has_work_before_pop(queue) and 1 or 0 })
