-- job_records: in each script, read a job only once and write a job only once. A job is a list: job.<field>
-- is compiled to a position in the list, in the order of engine/record.py. The extra part of a job holds
-- the fields that few jobs have. A large payload has a key of its own, so that a change of the state does
-- not copy the payload.
--
-- uses   keys job_packing batched_calls

local loaded_jobs, changed_jobs, deleted_ids, packed_ahead = {}, {}, {}, {}

-- Whether the user may only add jobs. A call of such a user runs only commands that cannot change an existing job.
local adds_only = false

local function only_add_jobs()
  adds_only = true
end

local function new_job(id, queue, retries)
  local job = { 'new', queue, 0, 0, 0, retries, '', 0, 0, retries, '', '', false, false, false, id }
  loaded_jobs[id] = job
  return job
end

-- Pack a job that does not change again in this call.
local function pack_final(job)
  local packed = packed_job(job)
  packed_ahead[job.id] = packed
  return packed
end

local function read_job(id)
  local job = loaded_jobs[id]
  if job == nil then
    local record = redis.call('GET', job_prefix .. id)
    job = record and unpacked_job(record, id)
    loaded_jobs[id] = job
  end
  return job
end

local function read_jobs(ids)
  if #ids <= 1 then
    return ids[1] and read_job(ids[1])
  end
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

-- Return the ids in the rows of a call. The id is the first value of a row.
local function ids_of(rows)
  local ids = {}
  for id in rows() do
    ids[#ids + 1] = id
  end
  return ids
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
    redis.call(adds_only and 'SETNX' or 'SET', key('data', job.id), data)
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
  call_in_batches('UNLINK', nil, names)
end

local function write_jobs()
  local values = {}
  local at = 0
  for id, job in pairs(changed_jobs) do
    values[at + 1] = job_prefix .. id
    values[at + 2] = packed_ahead[id] or packed_job(job)
    at = at + 2
  end
  call_in_batches(adds_only and 'MSETNX' or 'MSET', nil, values)
  if #deleted_ids > 0 then
    delete_job_keys()
  end
end
