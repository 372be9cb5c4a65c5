-- job_packing: a job as it is stored, a list in the order of engine/record.py. It begins with a byte that tells
-- its length and the number of the state, and ends where nothing more is to be said: behind the data stands
-- what has happened to the job since it was put.

-- payloads up to this size are part of the job; larger ones lie beside it.

local INLINE = 1024

local STATES = { 'waiting', 'scheduled', 'blocked', 'running', 'failed', 'complete' }
local NUMBERS = { waiting = 1, scheduled = 2, blocked = 3, running = 4, failed = 5, complete = 6 }
local WAITING, RUNNING, COMPLETE = 1, 4, 6
local DATA, TOKEN, HISTORY = 7, 12, 15
local NO_FIELDS, FALSE = 144, 194

-- The first two bytes of a job that was put, and then popped, and then completed, without anything else.
local JUST_PUT, JUST_POPPED, JUST_COMPLETE = '\151\1', '\156\4', '\157\6'

-- What is behind the data of a job to which nothing has happened.
local function unsaid(job)
  return { job.put_at, 0, job.retries, '', '', false, false, false }
end

local function packed_job(job)
  local rest, last = unsaid(job), HISTORY
  while last > DATA and job[last] == rest[last - DATA] do
    last = last - 1
  end
  return string.char(NO_FIELDS + last, NUMBERS[job.state]) .. cmsgpack.pack(unpack(job, 2, last))
end

local function unpacked_job(packed, id)
  local job = cmsgpack.unpack(packed)
  local rest = unsaid(job)
  for field = #job + 1, HISTORY do
    job[field] = rest[field - DATA]
  end
  job.state = STATES[job.state]
  job.id = id
  return job
end
