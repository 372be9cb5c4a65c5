-- job_packing: pack and unpack a job: a list in the order of engine/record.py. The first byte holds its
-- length, the second the number of its state. Fields at the end that still have their initial values are
-- not stored: the fields behind the data change only after the put.

-- Payloads up to this size are part of the record; larger ones have a key of their own.
local INLINE = 1024

local STATES = { 'waiting', 'scheduled', 'blocked', 'running', 'failed', 'complete' }
local NUMBERS = { waiting = 1, scheduled = 2, blocked = 3, running = 4, failed = 5, complete = 6 }
local WAITING, RUNNING, COMPLETE = 1, 4, 6
local DATA, TOKEN, HISTORY = 7, 12, 15
local NO_FIELDS, FALSE = 144, 194

-- The first two bytes of a job that was only put, then popped, then completed.
local JUST_PUT, JUST_POPPED, JUST_COMPLETE = '\151\1', '\156\4', '\157\6'

-- The initial values of the fields that follow the data in the packed job.
local function initial_fields(job)
  return { job.put_at, 0, job.retries, '', '', false, false, false }
end

local function packed_job(job)
  local rest, last = initial_fields(job), HISTORY
  while last > DATA and job[last] == rest[last - DATA] do
    last = last - 1
  end
  return string.char(NO_FIELDS + last, NUMBERS[job.state]) .. cmsgpack.pack(unpack(job, 2, last))
end

local function unpacked_job(packed, id)
  local job = cmsgpack.unpack(packed)
  local rest = initial_fields(job)
  for field = #job + 1, HISTORY do
    job[field] = rest[field - DATA]
  end
  job.state = STATES[job.state]
  job.id = id
  return job
end
