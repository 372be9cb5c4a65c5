-- promote_due_jobs: move due jobs from the state scheduled to the state waiting. Return true if no due job
-- is left. An entry whose job record does not exist is removed. The audit reports such entries.
--
-- uses   keys now job_records events job_states notices sorted_sets work_budget

local PROMOTE_AT_MOST = 256

local function promote_due_jobs(queue)
  local most = work_left(PROMOTE_AT_MOST)
  local ids = redis.call(
    'ZRANGE', key('scheduled', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0, most
  )
  read_jobs(ids)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job then
      emit('due', job)
      leave_state(job)
      enter_state(job, 'waiting', waiting_score(job))
    else
      zset_remove(key('scheduled', queue), id)
    end
  end
  if #ids > 0 then
    wake(queue, #ids)
  end
  return #ids < most
end
