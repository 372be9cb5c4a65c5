-- unique_values: ensure that no two live jobs of a queue hold the same unique value. If a running job moves to a
-- next queue where another job holds the same unique value, the moved job loses its value. An entry of the index
-- blocks other jobs only while its job exists and still has this value, so a stale entry blocks no job.
--
-- uses   keys job_records

local function unique_holder(queue, value, id)
  local holder = value and redis.call('HGET', key('unique', queue), value)
  local job = holder and holder ~= id and read_job(holder)
  return job and extra(job, 'unique') == value and job
end

-- Return a refusal if another job holds the unique value, else nil.
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
