-- unique_values: of several jobs with the same unique value, one live job per queue holds the value. A job
-- that must continue without the value is no longer unique. A claim counts only while its job exists and
-- has that value: a stale claim blocks no other job.
--
-- uses   keys job_records

local function unique_holder(queue, value, id)
  local holder = value and redis.call('HGET', key('unique', queue), value)
  local job = holder and holder ~= id and read_job(holder)
  return job and extra(job, 'unique') == value and job
end

-- Return why a job may not have a value, nil if it may.
local function unique_refusal(queue, value, id)
  local job = unique_holder(queue, value, id)
  return job and 'UNIQUE_TAKEN ' .. job.state .. ' ' .. job.id or nil
end

local function claim_unique_value(job)
  local value = extra(job, 'unique')
  if unique_holder(job.queue, value, job.id) then
    set_extra(job, 'unique', nil)
  elseif value then
    redis.call('HSET', key('unique', job.queue), value, job.id)
  end
end

local function release_unique_value(job)
  local value = extra(job, 'unique')
  local where = key('unique', job.queue)
  if value and redis.call('HGET', where, value) == job.id then
    redis.call('HDEL', where, value)
  end
end
