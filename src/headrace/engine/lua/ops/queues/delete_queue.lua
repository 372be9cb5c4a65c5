-- delete_queue: deletes a queue and everything of it, a bounded number of jobs a call; with the
-- last of them every key of the queue is gone. Running jobs are cancelled, their holders told.
--
-- args   queue at_most:int
-- flags  allow-oom
-- uses   keys numbered now settings jobs places cancel_job notices move books chunks results schedules retain
-- uses   commit
-- reply  1 when it is gone, 0 when there is more, or why not
-- error  QUEUE_NOT_FOUND

if not settings(queue).created and redis.call('EXISTS', key('ingress', queue)) == 0 then
  return again and 1 or 'QUEUE_NOT_FOUND'
end

local left = at_most

local function first_entries(state)
  if left == 0 then
    return {}
  end
  local entries = redis.call('ZRANGE', key(state, queue), 0, left - 1)
  left = left - #entries
  return entries
end

for _, id in ipairs(first_entries('schedules')) do
  redis.call('DEL', key('schedule', id))
  unlist_schedule(id, queue)
end
for _, state in ipairs({ 'running', 'waiting', 'scheduled', 'blocked', 'failed' }) do
  local entries, ids = first_entries(state), {}
  for i, entry in ipairs(entries) do
    ids[i] = state == 'waiting' and name_in(entry) or entry
  end
  read_jobs(ids)
  for i, id in ipairs(ids) do
    local job = read_job(id)
    if job then
      cancel_job(job, 'queue deleted')
    else
      lift(key(state, queue), entries[i])
    end
  end
end
local complete = first_entries('complete')
for _, id in ipairs(complete) do
  lift(key('complete', queue), id)
  lift(AGENDA, 'result:' .. id)
  book(queue, 'pruned', 1)
end
erase_all(complete)
local alone = first_entries('results')
for _, id in ipairs(alone) do
  redis.call('DEL', key('result', id))
  lift(AGENDA, 'result:' .. id)
  lift(key('results', queue), id)
end
erase_all(alone)
if left == 0 then
  return commit(0)
end

lift(QUEUES, queue)
lift(AGENDA, 'complete:' .. queue)
lift(AGENDA, 'lanes:' .. queue)
local days = redis.call('ZRANGE', key('days', queue), 0, -1)
tell_queue(queue, 'deleted')
commit(1)
local names = {}
for i, role in ipairs({ 'settings', 'books', 'days', 'ingress', 'rates', 'unique' }) do
  names[i] = key(role, queue)
end
for _, day in ipairs(days) do
  for _, role in ipairs({ 'stats', 'histogram' }) do
    local name = day .. ':' .. queue
    names[#names + 1] = key(role, name)
    redis.call('ZREM', AGENDA, role .. ':' .. name)
  end
end
in_chunks('DEL', nil, names)
return 1
