-- jobs: reads a job once, writes it once. A job is a list; job.<field> is compiled to a position in it, in
-- the order of engine/record.py. What few jobs have is in its extra part. A large payload lies beside it,
-- so that a move does not copy it.
--
-- uses   keys packing chunks

local known, touched, gone, packed_before = {}, {}, {}, {}

local function new_job(id, queue, retries)
  local job = { 'new', queue, 0, 0, 0, retries, '', 0, 0, retries, '', '', false, false, false, id }
  known[id] = job
  return job
end

-- For a job that will not change any more in this call.
local function packed_for_good(job)
  local packed = packed_job(job)
  packed_before[job.id] = packed
  return packed
end

local function read_jobs(ids)
  local job_keys = {}
  for i = 1, #ids do
    job_keys[i] = job_prefix .. ids[i]
  end
  for first = 1, #ids, CHUNK do
    local found = redis.call('MGET', unpack(job_keys, first, math.min(first + CHUNK - 1, #ids)))
    for i = 1, #found do
      local id = ids[first + i - 1]
      if known[id] == nil then
        known[id] = found[i] and unpacked_job(found[i], id)
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

local function extra(job, name)
  return job.extra and job.extra[name]
end

local function set_extra(job, name, value)
  local all = job.extra or {}
  all[name] = value
  job.extra = next(all) and all or false
end

local function touch(job)
  touched[job.id] = job
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

local function erase(id)
  known[id] = false
  touched[id] = nil
  gone[#gone + 1] = id
end

local function delete_erased()
  local names = {}
  for _, id in ipairs(gone) do
    if not touched[id] then
      for _, role in ipairs({ 'job', 'data', 'result', 'notes', 'log' }) do
        names[#names + 1] = key(role, id)
      end
    end
  end
  in_chunks('DEL', nil, names)
end

local function write_jobs()
  local values = {}
  local at = 0
  for id, job in pairs(touched) do
    values[at + 1] = job_prefix .. id
    values[at + 2] = packed_before[id] or packed_job(job)
    at = at + 2
  end
  in_chunks('MSET', nil, values)
  if #gone > 0 then
    delete_erased()
  end
end
