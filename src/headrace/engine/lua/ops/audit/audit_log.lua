-- audit_log: compare the jobs in a page of the event log with their records, newest event first. A job with
-- a record must be listed in the state that the record names. For a job without a record, the reply names the
-- kind of its newest event in the page, or is empty if that event ended the job.
--
-- args   newest count:int
-- flags  no-writes
-- uses   keys job_records set_members
-- reply  {entries, newest entry, oldest entry, {id, kind or empty, ...}, {id, problem}, ...}

-- The kinds of events after which a job still exists. After an event of any other kind, the job may have been
-- deleted.
local KEEPS = {}
for kind in string.gmatch(
  'put due blocked unlocked popped failed retried updated released lost unfailed prioritised', '%a+') do
  KEEPS[kind] = true
end
local ENDS = { completed = true, cancelled = true, expired = true }

local page = redis.call('XREVRANGE', EVENTS, newest, '-', 'COUNT', count)
local gone = {}
local reply = { #page, page[1] and page[1][1] or '', page[1] and page[#page][1] or '', gone }

local function is_listed(job)
  return redis.call('ZSCORE', key(job.state, job.queue), job_member(job))
    or job.state == 'complete' and redis.call('EXISTS', key('result', job.id)) == 1
end

local function moves_on(fields)
  for i = 1, #fields, 2 do
    if fields[i] == 'next' then
      return true
    end
  end
end

local seen = {}
for _, entry in ipairs(page) do
  local fields = entry[2]
  local kind, id = fields[2], fields[4]
  if not seen[id] and (KEEPS[kind] or ENDS[kind]) then
    seen[id] = true
    local job = read_job(id)
    if not job then
      gone[#gone + 1] = id
      gone[#gone + 1] = (KEEPS[kind] or moves_on(fields)) and kind or ''
    elseif not is_listed(job) then
      reply[#reply + 1] = { id, 'is recorded as ' .. job.state .. ' in ' .. job.queue .. ' but not listed there' }
    end
  end
end
return reply
