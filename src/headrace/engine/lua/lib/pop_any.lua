-- pop_any: a pop in its general form: with housekeeping to do first, late jobs, jobs that must start
-- in time, repeated. When housekeeping is not done, nothing is handed out and the call is to be made
-- again at once (due is 0), so that every job that may come first has been considered.
--
-- uses   keys now settings jobs places move reclaim promote spawn ingress grant notices due_in tidy
-- uses   commit

local ROUNDS = 4

local limits = settings(queue)

local granted = {}

local function hand_out(job, known_member, waited)
  grant(job, known_member, worker, secret, deadline, waited)
  granted[#granted + 1] = job
end

-- later  resume take_late expire_late

local function take_waiting(most)
  local found = redis.call('ZRANGE', key('waiting', queue), 0, most - 1)
  local ids = {}
  for i = 1, #found do
    ids[i] = string.sub(found[i], 17)
  end
  read_jobs(ids)
  for i = 1, #ids do
    local job = known[ids[i]]
    local start_by = job and extra(job, 'start_by')
    if not job then
      lift(key('waiting', queue), found[i])
    elseif start_by and start_by <= now then
      expire_late(job)
    else
      hand_out(job, found[i], now - job.since)
    end
  end
  return #found == most
end

-- A taker that was asked for some and gave fewer has no more; the rounds are for those it dropped.
local function fill(take)
  for _ = 1, ROUNDS do
    if #granted >= count or not take(count - #granted) then
      return true
    end
    settle()
  end
  return #granted >= count
end

local function any_late()
  local first = redis.call('ZRANGE', key('running', queue), 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) <= now
end

return function()
  local ready = reclaim() and promote(queue) and spawn(queue)
  local all_in = ingress(queue)
  tidy()
  settle()
  if again then
    resume()
  end
  local due = 0
  if #granted > 0 or ready and limits.paused == 1 then
    due = -1
  elseif ready and (not any_late() or fill(take_late)) and fill(take_waiting) and #granted < count then
    settle()
    due = all_in and due_in(queue) or 0
  end
  wake(queue, -#granted)

  local reply, apart = { due }, {}
  reply[2] = apart
  for _, job in ipairs(granted) do
    reply[#reply + 1] = job.id
    reply[#reply + 1] = packed_for_good(job)
    if job.data == false then
      apart[#apart + 1] = job.id
      apart[#apart + 1] = payload(job)
    end
  end
  return commit(reply)
end
