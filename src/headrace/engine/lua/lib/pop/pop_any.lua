-- pop_any: a pop in its general form: with housekeeping to do first, late jobs, jobs that must start
-- in time, repeated. When housekeeping is not done, nothing is handed out and the call is to be made
-- again at once (due is 0), so that every job that may come first has been considered.
--
-- uses   keys numbered now settings jobs places move reclaim promote spawn ingress grant notices due_in tidy
-- uses   commit keep_house

local ROUNDS = 4

local limits = settings(queue)

local granted = {}

local function hand_out(job, known_member, waited)
  grant(job, known_member, worker, secret, deadline, waited)
  granted[#granted + 1] = job
end

-- later  resume take_late expire_late room

-- Hands out the job that waits under this name, unless it is too late for it or it is gone.
local function hand_out_waiting(id, name)
  local job = read_job(id)
  local start_by = job and extra(job, 'start_by')
  if not job then
    lift(key('waiting', queue), name)
    return false
  elseif start_by and start_by <= now then
    expire_late(job)
  else
    hand_out(job, name, now - job.since)
  end
  return true
end

local function take_waiting(most)
  local found = redis.call('ZRANGE', key('waiting', queue), 0, most - 1)
  local ids = {}
  for i = 1, #found do
    ids[i] = name_in(found[i])
  end
  read_jobs(ids)
  for i = 1, #ids do
    hand_out_waiting(ids[i], found[i])
  end
  return #found == most
end

-- later  take_from_lanes

-- A taker that was asked for some and gave fewer has no more; the rounds are for those it dropped.
local function fill(take, wanted)
  for _ = 1, ROUNDS do
    if #granted >= wanted or not take(wanted - #granted) then
      return true
    end
    settle()
  end
  return #granted >= wanted
end

local function any_late()
  local first = redis.call('ZRANGE', key('running', queue), 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) <= now
end

local function is_ready()
  local ready = reclaim() and promote(queue) and spawn(queue)
  local all_in = ingress(queue)
  tidy()
  settle()
  return ready and not limits.building, all_in
end

return function(chores, log_has_grown)
  if chores then
    return keep_house(log_has_grown)
  end
  local ready, all_in = is_ready()
  if again then
    resume()
  end
  local free, room_at = count, now
  if limits.limited then
    free, room_at = room(queue)
  end
  local wanted = math.min(count, free)
  local take = limits.governed and take_from_lanes or take_waiting
  local due = 0
  if #granted > 0 or ready and limits.paused == 1 then
    due = -1
  elseif ready and wanted == 0 then
    due = due_in({ SESSIONS }, room_at)
  elseif ready and (not any_late() or fill(take_late, wanted)) and fill(take, wanted)
    and #granted < count then
    settle()
    due = all_in and due_in(what_comes(queue), math.huge) or 0
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
