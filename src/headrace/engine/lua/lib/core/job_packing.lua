-- job_packing: pack and unpack jobs. A packed job, called a record, is a list of fields in the order of
-- engine/record.py. The first byte of a record holds the length of the list, and the second byte holds the
-- number of the state. Trailing fields that still have their initial values are not stored. The fields
-- after `data` change only after the job was put.

-- A payload of at most this many bytes is part of the record. A larger payload has a key of its own.
local INLINE = 1024

local STATES = { 'waiting', 'scheduled', 'blocked', 'running', 'failed', 'complete' }
local NUMBERS = { waiting = 1, scheduled = 2, blocked = 3, running = 4, failed = 5, complete = 6 }
local WAITING, RUNNING, COMPLETE = 1, 4, 6
local DATA, TOKEN, HISTORY = 7, 12, 15
local NO_FIELDS, FALSE = 144, 194

-- The first two bytes of the record of a job after its put, after a put with extra fields, after its first
-- pop, and after its completion.
local JUST_PUT, JUST_PUT_WITH_EXTRA, JUST_POPPED, JUST_COMPLETE = '\151\1', '\158\1', '\156\4', '\157\6'

-- Return the initial values of the fields that follow the data in the packed job.
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
