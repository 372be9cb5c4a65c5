-- explain_wait: return the data that explains why a job is waiting. In the reply, a gate is {name, running
-- jobs, concurrency, rate, milliseconds until the gate may open by itself, expected milliseconds}. Absent
-- values are ''.
--
-- args   id
-- flags  no-writes
-- uses   keys now settings job_records set_members gates statistics
-- reply  {state, queue, paused, time or '', worker, number of earlier jobs, {gate, ...}, {dependency, ...}}
-- error  NOT_FOUND

-- Estimate the milliseconds until the first of these running jobs finishes. The estimate assumes that a job
-- runs as long as the queue's jobs have run on average today. Return '' if no average is known.
local function expected(queue, ids)
  local day = math.floor(now / DAY) .. ':' .. queue
  local mean = tonumber(redis.call('HGET', key('stats', day), 'run:mean') or nil)
  local soonest = math.huge
  read_jobs(ids)
  for _, running_id in ipairs(ids) do
    local job = read_job(running_id)
    if job and mean then
      soonest = math.min(soonest, math.max(0, job.since + mean - now))
    end
  end
  return soonest < math.huge and math.ceil(soonest) or ''
end

local DEPENDENCIES_SHOWN = 10

local job = read_job(id)
if not job then
  return 'NOT_FOUND'
end
local queue, state = job.queue, job.state
local limits = settings(queue)
local lane = lane_of(job)

local function before()
  local where = limits.governed and lane_key(queue, lane) or key('waiting', queue)
  return redis.call('ZRANK', where, job_member(job)) or 0
end

local function described(name, running_in, concurrency, rate, moment)
  return {
    name, redis.call('ZCOUNT', running_in, '(' .. now, '+inf'), concurrency or '', rate or '',
    moment and moment ~= math.huge and moment - now or '',
    expected(queue, redis.call('ZRANGE', running_in, '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, 100)),
  }
end

local closed = {}
if state == 'waiting' then
  local free, moment = queue_capacity(queue)
  if free <= 0 then
    closed[1] = described('', key('running', queue),
      limits.concurrency and shard_share(limits.concurrency, limits.shards),
      limits.rate and shard_share(limits.rate, limits.shards), moment)
  end
  for _, gate in ipairs(gates_of_job(job)) do
    local gate_opens = closed_until(queue, gate)
    if gate_opens then
      local concurrency, rate = limits_of(queue, gate)
      closed[#closed + 1] = described(gate, key('gate', gate), concurrency, rate, gate_opens)
    end
  end
end
return {
  state, queue, limits.paused, redis.call('ZSCORE', key(state, queue), job_member(job)) or '', job.worker,
  state == 'waiting' and before() or 0, closed,
  redis.call('ZRANGE', key('depends', id), 0, DEPENDENCIES_SHOWN - 1),
}
