-- put: makes jobs. One that exists is moved here, replaced, refused or duplicated (under its spare
-- id), as on_exists says. The nonce tells a repeated call from a second one.
--
-- args   queue on_exists nonce options:packed
-- each   id spare data options:packed
-- uses   keys now settings open_queue jobs emit move join depart places notices books commit
-- reply  for each, 1 made, 2 made under its spare id, 3 moved, 4 replaced, 0 already made, or why not
-- error  JOB_EXISTS

local limits = settings(queue)
local policy = on_exists ~= '' and on_exists or limits.on_exists

local function option(own, name)
  if own and own[name] ~= nil then
    return own[name]
  end
  return options and options[name]
end

local function fresh(id)
  return {
    id = id, queue = queue, priority = 0, attempt = 0, releases = 0, retries = limits.retries,
    remaining = false, worker = '', token = '', tags = false, start_by = false,
    result_ttl = false, failure = false, history = false, data = '',
  }
end

local function apply(job, own, data)
  job.priority = option(own, 'priority') or job.priority
  local tags = option(own, 'tags')
  if tags then
    job.tags = #tags > 0 and tags or false
  end
  local retries = option(own, 'retries')
  if retries ~= nil then
    job.retries = retries
  end
  job.result_ttl = option(own, 'result_ttl') or job.result_ttl
  local start_within = option(own, 'start_within')
  if job.start_by then
    lift(AGENDA, 'start:' .. job.id)
  end
  job.start_by = start_within and now + start_within or false
  if start_within then
    place(AGENDA, 'start:' .. job.id, job.start_by)
  end
  job.by = nonce
  set_data(job, data)
end

local function put_event(job, data, more)
  if #data > limits.event_data then
    more[#more + 1] = 'left_out'
    more[#more + 1] = #data
    data = ''
  end
  if job.tags then
    more[#more + 1] = 'tags'
    more[#more + 1] = cjson.encode(job.tags)
  end
  return emit('put', job, nil, nil, data, more)
end

local function make(id, data, own)
  local job = fresh(id)
  local delay = option(own, 'delay') or 0
  apply(job, own, data)
  join(job, queue, put_event(job, data, delay > 0 and { 'delay', delay } or {}), delay)
end

local function move_here(job, data, own)
  local from, was = job.queue, job.state
  local delay = option(own, 'delay') or 0
  depart(job)
  job.worker = ''
  job.queue = queue
  apply(job, own, data)
  join(job, queue, put_event(job, data, { 'from', from, 'was', was, 'delay', delay }), delay)
end

local function replace(job, data, own)
  local delay = option(own, 'delay')
  leave(job)
  apply(job, own, data)
  put_event(job, data, { 'from', job.queue, 'was', 'replaced', 'delay', delay or 0 })
  if delay then
    job.since = now + delay
  end
  if job.state == 'scheduled' and job.since > now or delay and delay > 0 then
    enter(job, 'scheduled', job.since)
  else
    enter(job, 'waiting', job.priority)
    wake(job.queue, 1)
  end
end

-- Which ids this call has made already, when it is repeated because its answer was lost.
local made = {}

local function put_one(id, spare, data, own)
  local job = read_job(id)
  if not job then
    make(id, data, own)
    return 1
  end
  if again and spare ~= '' and read_job(spare) then
    return 2
  end
  if made[id] then
    made[id] = policy ~= 'reject'
    return 0
  end
  local waits = job.state == 'waiting' or job.state == 'scheduled'
  if policy == 'duplicate' then
    make(spare, data, own)
    return 2
  elseif policy == 'reject' or policy == 'replace' and not waits and job.state == 'running' then
    return 'JOB_EXISTS ' .. job.state
  elseif policy == 'replace' and waits then
    replace(job, data, own)
    return 4
  end
  move_here(job, data, own)
  return 3
end

local ids = {}
for id in each() do
  ids[#ids + 1] = id
end
read_jobs(ids)
for _, id in ipairs(again and ids or {}) do
  local job = read_job(id)
  made[id] = job and job.by == nonce
end
local answers = {}
for id, spare, data, own in each() do
  answers[#answers + 1] = put_one(id, spare, data, own)
end
return commit(answers)
