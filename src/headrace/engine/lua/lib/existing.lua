-- existing: a put of an id that exists: the job is moved here, replaced where it waits, refused or
-- duplicated under its spare id, as the policy says.
--
-- uses   now settings jobs make move join depart notices

local function move_here(job, into, data, given)
  local from, was = job.queue, job.state
  local delay = given and given.delay or 0
  depart(job)
  job.worker = ''
  job.queue = into
  apply(job, data, given, nonce)
  join(job, into, put_event(job, data, { 'from', from, 'was', was, 'delay', delay }), delay)
  return 3
end

local function replace(job, data, given)
  local delay = given and given.delay
  leave(job)
  apply(job, data, given, nonce)
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

return function(job, into, spare, data, given)
  local policy = on_exists ~= '' and on_exists or settings(into).on_exists
  if made_before(job) and not (policy == 'reject' and answered[job.id]) then
    answered[job.id] = true
    return 0
  elseif policy == 'duplicate' then
    make(into, spare, data, given, nonce)
    return 2
  elseif policy == 'reject' or policy == 'replace' and job.state == 'running' then
    return 'JOB_EXISTS ' .. job.state
  elseif policy == 'replace' and (job.state == 'waiting' or job.state == 'scheduled') then
    return replace(job, data, given)
  end
  return move_here(job, into, data, given)
end
