-- existing: a put of an id that exists: the job is moved here, replaced where it waits, refused or
-- duplicated under its spare id, as the policy says.
--
-- uses   now jobs emit move join depart notices

local function move_here(job, data, own)
  local from, was = job.queue, job.state
  local delay = option(own, 'delay') or 0
  depart(job)
  job.worker = ''
  job.queue = queue
  apply(job, own, data)
  join(job, queue, put_event(job, data, { 'from', from, 'was', was, 'delay', delay }), delay)
  return 3
end

local function replace(job, data, own)
  local delay = option(own, 'delay')
  leave(job)
  apply(job, own, data)
  put_event(job, data, { 'from', job.queue, 'was', 'replaced', 'delay', delay or 0 })
  if delay then
    job.since = now + delay
  end
  if delay and delay > 0 or not delay and job.state == 'scheduled' then
    enter(job, 'scheduled', job.since)
  else
    enter(job, 'waiting', job.priority)
    wake(job.queue, 1)
  end
  return 4
end

-- Which ids the call that is repeated has made; what this one makes is touched.
local answered = {}

local function made_before(job)
  return again and not touched[job.id] and (extra(job, 'by') or '') == nonce
end

return function(job, spare, data, own)
  local policy = on_exists ~= '' and on_exists or limits.on_exists
  if made_before(job) and not (policy == 'reject' and answered[job.id]) then
    answered[job.id] = true
    return 0
  elseif policy == 'duplicate' then
    make(spare, data, own)
    return 2
  elseif policy == 'reject' or policy == 'replace' and job.state == 'running' then
    return 'JOB_EXISTS ' .. job.state
  elseif policy == 'replace' and (job.state == 'waiting' or job.state == 'scheduled') then
    return replace(job, data, own)
  end
  return move_here(job, data, own)
end
