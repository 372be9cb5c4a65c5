-- pop: hands the next jobs of a queue to a worker, each under its own lease: first those whose
-- lease ran out, then the waiting ones. A lease of -1 is the queue's own. When housekeeping is not
-- done, nothing is handed out and the call is to be made again at once (due is 0), so that every
-- job that may come first has been considered.
--
-- args   queue worker secret count:int lease:int
-- uses   keys now settings jobs places move reclaim promote grant lose expire_job notices due_in tidy commit
-- reply  {milliseconds until something is due or -1, id, record, payload if apart, ...}
-- error  SESSION_REQUIRED

local ROUNDS = 4

local limits = settings(queue)
if limits.session == 'required' and not (
  tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) > now
  and redis.call('ZSCORE', key('serves', worker), queue)
) then
  return 'SESSION_REQUIRED'
end

local span = limits.lease
if lease >= 0 then
  span = lease
end
local deadline = span and now + span or 'inf'

local granted = {}

local function hand_out(job, waited)
  grant(job, worker, secret, deadline, waited)
  granted[#granted + 1] = job
end

-- What this call handed out before its answer was lost, and is still with this worker.
local function resume()
  local ids = redis.call('ZRANGE', key('held', worker), '[' .. queue .. '\0', '(' .. queue .. '\1', 'BYLEX')
  for i, entry in ipairs(ids) do
    ids[i] = string.sub(entry, #queue + 2)
  end
  read_jobs(ids)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job and job.token == job.attempt .. '.' .. secret then
      granted[#granted + 1] = job
    end
  end
  table.sort(granted, function(a, b)
    return a.priority < b.priority or a.priority == b.priority and a.seq < b.seq
  end)
end

local function take_late()
  local late = redis.call('ZRANGE', key('running', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0,
    count - #granted, 'WITHSCORES')
  for i = 1, #late, 2 do
    local job = read_job(late[i])
    lose(job, 'lease expired')
    if job.state == 'waiting' then
      hand_out(job, now - late[i + 1])
    end
  end
  return #late > 0
end

local function take_waiting()
  local places = redis.call('ZRANGE', key('waiting', queue), 0, count - #granted - 1)
  local ids = {}
  for i, place_name in ipairs(places) do
    ids[i] = string.sub(place_name, 17)
  end
  read_jobs(ids)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job.start_by and job.start_by <= now then
      expire_job(job)
    else
      hand_out(job, now - job.since)
    end
  end
  return #places > 0
end

local function fill(take)
  for _ = 1, ROUNDS do
    if #granted >= count or not take() then
      return true
    end
    settle()
  end
  return #granted >= count
end

local ready = reclaim() and promote(queue)
tidy()
settle()
if again then
  resume()
end
local due = 0
if #granted > 0 then
  due = -1
elseif ready and limits.paused == 1 then
  due = -1
elseif ready and fill(take_late) and fill(take_waiting) and #granted < count then
  due = due_in(queue)
end
wake(queue, -#granted)

local reply = { due }
for _, job in ipairs(granted) do
  reply[#reply + 1] = job.id
  reply[#reply + 1] = packed_job(job)
  reply[#reply + 1] = job.data == false and payload(job) or ''
end
return commit(reply)
