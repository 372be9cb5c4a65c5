-- jobs: reads a job once, writes it once. A job is one packed value; engine/record.py reads the
-- same fields in the same order. A large payload lies beside it, so that a move does not copy it.
--
-- uses   keys chunks

local INLINE = 1024

local known, touched, touched_order, gone = {}, {}, {}, {}

local function unpacked(id, packed)
  local f = cmsgpack.unpack(packed)
  return {
    id = id,
    state = f[1], queue = f[2], priority = f[3], seq = f[4], put_at = f[5], since = f[6],
    attempt = f[7], releases = f[8], retries = f[9], remaining = f[10], worker = f[11],
    token = f[12], tags = f[13], start_by = f[14], result_ttl = f[15], failure = f[16],
    history = f[17], by = f[18], data = f[19],
  }
end

local function packed_job(job)
  return cmsgpack.pack({
    job.state, job.queue, job.priority, job.seq, job.put_at, job.since,
    job.attempt, job.releases, job.retries, job.remaining, job.worker,
    job.token, job.tags, job.start_by, job.result_ttl, job.failure,
    job.history, job.by, job.data,
  })
end

local function read_jobs(ids)
  local missing, job_keys = {}, {}
  for _, id in ipairs(ids) do
    if known[id] == nil then
      known[id] = false
      missing[#missing + 1] = id
      job_keys[#job_keys + 1] = key('job', id)
    end
  end
  for first = 1, #missing, CHUNK do
    local last = math.min(first + CHUNK - 1, #missing)
    for i, packed in ipairs(redis.call('MGET', unpack(job_keys, first, last))) do
      if packed then
        local id = missing[first + i - 1]
        known[id] = unpacked(id, packed)
      end
    end
  end
end

local function read_job(id)
  if known[id] == nil then
    read_jobs({ id })
  end
  return known[id]
end

local function touch(job)
  if not touched[job.id] then
    touched[job.id] = job
    touched_order[#touched_order + 1] = job
  end
  known[job.id] = job
  gone[job.id] = nil
end

local function set_data(job, data)
  if #data > INLINE then
    job.data = false
    redis.call('SET', key('data', job.id), data)
  else
    if job.data == false then
      redis.call('DEL', key('data', job.id))
    end
    job.data = data
  end
end

local function payload(job)
  return job.data or redis.call('GET', key('data', job.id))
end

local function erase(job)
  known[job.id] = false
  touched[job.id] = nil
  gone[job.id] = true
end

local function write_jobs()
  local values = {}
  for _, job in ipairs(touched_order) do
    if touched[job.id] == job then
      values[#values + 1] = key('job', job.id)
      values[#values + 1] = packed_job(job)
    end
  end
  in_chunks('MSET', nil, values)
  local names = {}
  for id in pairs(gone) do
    for _, role in ipairs({ 'job', 'data', 'result', 'notes', 'log' }) do
      names[#names + 1] = key(role, id)
    end
  end
  in_chunks('DEL', nil, names)
end
