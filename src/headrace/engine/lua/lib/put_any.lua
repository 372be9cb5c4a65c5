-- put_any: a put in its general form: jobs with options, with given ids, of a new queue, repeated.
--
-- uses   keys now settings jobs emit join places commit

local limits = settings(queue)

local function option(own, name)
  if own and own[name] ~= nil then
    return own[name]
  end
  return options and options[name]
end

local function apply_options(job, own)
  job.priority = option(own, 'priority') or job.priority
  local tags = option(own, 'tags')
  if tags then
    set_extra(job, 'tags', #tags > 0 and tags or nil)
  end
  local retries = option(own, 'retries')
  if retries ~= nil then
    job.retries = retries
    job.remaining = retries
  end
  local result_ttl = option(own, 'result_ttl')
  if result_ttl then
    set_extra(job, 'result_ttl', result_ttl)
  end
  local start_within = option(own, 'start_within')
  if start_within then
    set_extra(job, 'start_by', now + start_within)
    place(AGENDA, 'start:' .. job.id, now + start_within)
  end
end

local function apply(job, own, data)
  if extra(job, 'start_by') then
    lift(AGENDA, 'start:' .. job.id)
    set_extra(job, 'start_by', nil)
  end
  if own or options then
    apply_options(job, own)
  end
  if nonce ~= '' or job.extra then
    set_extra(job, 'by', nonce ~= '' and nonce or nil)
  end
  set_data(job, data)
end

local function put_event(job, data, more)
  if #data > limits.event_data then
    more = more or {}
    more[#more + 1] = 'left_out'
    more[#more + 1] = #data
    data = ''
  end
  local tags = extra(job, 'tags')
  if tags then
    more = more or {}
    more[#more + 1] = 'tags'
    more[#more + 1] = cjson.encode(tags)
  end
  return emit('put', job, nil, nil, data, more)
end

local function make(id, data, own)
  local job = new_job(id, queue, limits.retries)
  local delay = option(own, 'delay') or 0
  apply(job, own, data)
  join(job, queue, put_event(job, data, delay > 0 and { 'delay', delay } or nil), delay)
end

-- later  existing

return function()
  local ids = {}
  for id in each() do
    ids[#ids + 1] = id
  end
  read_jobs(ids)
  local answers = {}
  for id, data in each() do
    local at = #answers + 1
    local job = known[id]
    local spare, own
    if others then
      spare, own = others[at][1], others[at][2]
    end
    if again and spare and read_job(spare) then
      answers[at] = 2
    elseif job then
      answers[at] = existing(job, spare, data, own)
    else
      make(id, data, own)
      answers[at] = 1
    end
  end
  return commit(answers)
end
