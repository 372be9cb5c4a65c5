-- agenda_tasks: the tasks of the agenda, by the first word of an entry.
--
-- uses   keys set_members now settings job_records sorted_sets job_states expire_job prune_completed results
-- uses   scan_set lane_access notices end_throttle job_finished

local LINE_UP_AT_MOST = 200

local tasks = {}

local function may_start(job)
  return job.state == 'waiting' or job.state == 'scheduled' or job.state == 'blocked'
end

function tasks.start(id)
  local job = read_job(id)
  if job and extra(job, 'start_by') and may_start(job) then
    expire_job(job)
  end
end

function tasks.result(id)
  local job = read_job(id)
  if job and job.state == 'complete' then
    drop_result(job)
    if not redis.call('ZSCORE', key('complete', job.queue), id) then
      delete_job(job)
    end
  end
end

function tasks.unlock(name)
  unlocking[#unlocking + 1] = name
end

function tasks.complete(queue)
  prune_completed(queue)
end

-- later  trim_event_log

function tasks.events()
  trim_event_log()
end

-- Move jobs into lanes that waited before their queue had any.
function tasks.lanes(queue)
  local limits = settings(queue)
  if not limits.building then
    return
  end
  local cursor = limits.building ~= '' and cmsgpack.unpack(limits.building) or nil
  local found, next_cursor = scan_set(key('waiting', queue), LINE_UP_AT_MOST, cursor)
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
    zset_add(AGENDA, 'lanes:' .. queue, now)
  else
    limits.building = nil
    redis.call('HDEL', key('settings', queue), 'building')
    wake(queue, 1)
  end
end

function tasks.throttle(name)
  end_throttle(name)
end

function tasks.stats(name)
  redis.call('DEL', key('stats', name))
  local day, queue = string.match(name, '^(%d+):(.*)$')
  redis.call('ZREM', key('days', queue), day)
end

function tasks.histogram(name)
  redis.call('DEL', key('histogram', name))
end

function tasks.staged(attempt)
  redis.call('UNLINK', key('staged', attempt))
end

function tasks.imported(import)
  redis.call('UNLINK', key('imported', import))
end

-- later  recover_transaction expire_write

function tasks.transaction(transaction)
  recover_transaction(transaction)
end

function tasks.write(write)
  expire_write(write)
end

return function(entry)
  local duty, name = string.match(entry, '^(%l+):(.*)$')
  tasks[duty](name)
end
