-- replace_job: replace the data and options of a pending job without moving the job in its queue. If the
-- put has a delay, the delay starts now. The job keeps its dependencies unless the put has new
-- dependencies.
--
-- uses   keys now job_records create_job job_states sorted_sets unique_values notices links

local function can_be_replaced(job)
  return job.state == 'waiting' or job.state == 'scheduled' or job.state == 'blocked'
end

local function kept_parents(job, given)
  if given and given.depends_on or job.state ~= 'blocked' then
    return given and given.depends_on
  end
  flush_zset(key('depends', job.id))
  return redis.call('ZRANGE', key('depends', job.id), 0, -1)
end

local function replace_job(job, data, given)
  local delay = given and given.delay
  local parents, was, first = kept_parents(job, given), job.state, extra(job, 'first')
  leave_state(job)
  set_extra(job, 'first', first or nil)
  apply_put(job, data, given)
  claim_unique_value(job)
  local event = emit_put(job, data, { 'from', job.queue, 'was', 'replaced', 'delay', delay or 0 })
  if delay then
    job.since = now + delay
  end
  if parents and block_job(job, parents, math.max(0, job.since - now)) then
    return 4
  elseif was == 'blocked' then
    job.seq = event
    job.since = math.max(now, job.since)
  end
  local to_come = was == 'scheduled' or was == 'blocked' and job.since > now
  if delay and delay > 0 or not delay and to_come then
    enter_state(job, 'scheduled', job.since)
  else
    enter_state(job, 'waiting', waiting_score(job))
    wake(job.queue, 1)
  end
  return 4
end
