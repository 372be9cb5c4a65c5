-- job_records: read each job once and write it once per script. A job is a list; job.<field> is compiled to
-- a position in it, in the order of engine/record.py. Rare fields are in its extra part. A large payload
-- has a key of its own, so that a state change does not copy it.
--
-- uses   keys job_packing batched_calls

local loaded_jobs, changed_jobs, deleted_ids, packed_ahead = {}, {}, {}, {}

local function new_job(id, queue, retries)
  local job = { 'new', queue, 0, 0, 0, retries, '', 0, 0, retries, '', '', false, false, false, id }
  loaded_jobs[id] = job
  return job
end

-- For a job that does not change again in this call.
local function pack_final(job)
  local packed = packed_job(job)
  packed_ahead[job.id] = packed
  return packed
end

local function read_jobs(ids)
  local job_keys = {}
  for i = 1, #ids do
    job_keys[i] = job_prefix .. ids[i]
  end
  for first = 1, #ids, ARGUMENTS_AT_MOST do
    local found = redis.call('MGET', unpack(job_keys, first, math.min(first + ARGUMENTS_AT_MOST - 1, #ids)))
    for i = 1, #found do
      local id = ids[first + i - 1]
      if loaded_jobs[id] == nil then
        loaded_jobs[id] = found[i] and unpacked_job(found[i], id)
      end
    end
  end
end

local function read_job(id)
  if loaded_jobs[id] == nil then
    read_jobs({ id })
  end
  return loaded_jobs[id]
end

local function extra(job, name)
  return job.extra and job.extra[name]
end

local function set_extra(job, name, value)
  local all = job.extra or {}
  all[name] = value
  job.extra = next(all) and all or false
end

local function mark_changed(job)
  changed_jobs[job.id] = job
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

local function delete_record(id)
  loaded_jobs[id] = false
  changed_jobs[id] = nil
  deleted_ids[#deleted_ids + 1] = id
end

local function delete_job_keys()
  local names = {}
  for _, id in ipairs(deleted_ids) do
    if not changed_jobs[id] then
      for _, role in ipairs({ 'job', 'data', 'result', 'notes', 'log' }) do
        names[#names + 1] = key(role, id)
      end
    end
  end
  call_in_batches('DEL', nil, names)
end

local function write_jobs()
  local values = {}
  local at = 0
  for id, job in pairs(changed_jobs) do
    values[at + 1] = job_prefix .. id
    values[at + 2] = packed_ahead[id] or packed_job(job)
    at = at + 2
  end
  call_in_batches('MSET', nil, values)
  if #deleted_ids > 0 then
    delete_job_keys()
  end
end
