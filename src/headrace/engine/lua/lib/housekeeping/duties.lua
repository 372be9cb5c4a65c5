-- duties: what the agenda can ask for, by the first word of its entry.
--
-- uses   keys numbered now settings jobs places move expire_job retain results walk in_lanes notices throttles ends

local LINE_UP_AT_MOST = 200

local duties = {}

local function may_start(job)
  return job.state == 'waiting' or job.state == 'scheduled' or job.state == 'blocked'
end

function duties.start(id)
  local job = read_job(id)
  if job and extra(job, 'start_by') and may_start(job) then
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

function duties.unlock(name)
  unlocking[#unlocking + 1] = name
end

function duties.complete(queue)
  retain(queue)
end

-- later  trim_log

function duties.events()
  trim_log()
end

-- Jobs that were there before their queue had lanes are lined up.
function duties.lanes(queue)
  local limits = settings(queue)
  if not limits.building then
    return
  end
  local cursor = limits.building ~= '' and cmsgpack.unpack(limits.building) or nil
  local found, next_cursor = walk(key('waiting', queue), LINE_UP_AT_MOST, cursor)
  local ids = {}
  for i = 1, #found, 2 do
    ids[#ids + 1] = name_in(found[i])
  end
  read_jobs(ids)
  for i, id in ipairs(ids) do
    local job = read_job(id)
    if job then
      lanes('step_in', job, found[2 * i - 1])
    end
  end
  if next_cursor then
    redis.call('HSET', key('settings', queue), 'building', cmsgpack.pack(next_cursor))
    place(AGENDA, 'lanes:' .. queue, now)
  else
    limits.building = nil
    redis.call('HDEL', key('settings', queue), 'building')
    wake(queue, 1)
  end
end

function duties.throttle(name)
  end_throttle(name)
end

function duties.stats(name)
  redis.call('DEL', key('stats', name))
  local day, queue = string.match(name, '^(%d+):(.*)$')
  redis.call('ZREM', key('days', queue), day)
end

function duties.histogram(name)
  redis.call('DEL', key('histogram', name))
end

function duties.staged(parcel)
  redis.call('UNLINK', key('staged', parcel))
end

function duties.adopted(import)
  redis.call('UNLINK', key('adopted', import))
end

-- later  tend_bundle forget_decided

function duties.bundle(bundle)
  tend_bundle(bundle)
end

function duties.write(write)
  forget_decided(write)
end

return function(entry)
  local duty, name = string.match(entry, '^(%l+):(.*)$')
  duties[duty](name)
end
