-- tidy: does what the agenda says is due, a few things in every call, so that limits hold without
-- a process of our own.
--
-- uses   keys now jobs places move expire_job retain results trim_log

local TIDY_AT_MOST = 16

local duties = {}

function duties.start(id)
  local job = read_job(id)
  if job and job.start_by and (job.state == 'waiting' or job.state == 'scheduled') then
    expire_job(job)
  end
end

function duties.result(id)
  local job = read_job(id)
  if job and job.state == 'complete' then
    drop_result(job)
    if not redis.call('ZSCORE', key('complete', job.queue), id) then
      forget(job)
    end
  end
end

function duties.complete(queue)
  retain(queue)
end

function duties.events()
  trim_log()
end

function duties.stats(name)
  redis.call('DEL', key('stats', name))
  local day, queue = string.match(name, '^(%d+):(.*)$')
  redis.call('ZREM', key('days', queue), day)
end

function duties.histogram(name)
  redis.call('DEL', key('histogram', name))
end

-- True when nothing more is due. One turn a script is enough.
local tidied = false
local function tidy()
  if tidied then
    return true
  end
  tidied = true
  settle()
  local due = redis.call('ZRANGE', AGENDA, '-inf', now, 'BYSCORE', 'LIMIT', 0, TIDY_AT_MOST)
  for _, entry in ipairs(due) do
    lift(AGENDA, entry)
    local duty, name = string.match(entry, '^(%l+):(.*)$')
    duties[duty](name)
  end
  return #due < TIDY_AT_MOST
end
