-- delete_queue: delete a queue with all its jobs and keys, a bounded number of jobs per call. The last call
-- deletes the other keys of the queue. Running jobs are cancelled, and their workers are notified.
--
-- args   queue at_most:int
-- flags  allow-oom
-- nonce  always
-- uses   keys set_members settings job_records sorted_sets cancel_and_expire notices books
-- uses   batched_calls schedule_index completed_jobs write_back
-- reply  1 if the queue is deleted, 0 if the caller must call again, or a refusal
-- error  QUEUE_NOT_FOUND

if not settings(queue).created and redis.call('EXISTS', key('ingress', queue)) == 0 then
  return 'QUEUE_NOT_FOUND'
end

local left = at_most

-- Cancelling a job takes longer if the job has many dependencies. When the call counts its jobs, this many
-- dependencies count as one more job.
local LINKS_LIKE_ONE_JOB = 40

local function first_entries(state)
  if left <= 0 then
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
    if left < 0 then
      break
    elseif job then
      if state == 'blocked' then
        left = left - math.floor(redis.call('ZCARD', key('depends', id)) / LINKS_LIKE_ONE_JOB)
      end
      cancel_job(job, 'queue deleted')
    else
      zset_remove(key(state, queue), entries[i])
    end
  end
end
local complete = first_entries('complete')
for _, id in ipairs(complete) do
  zset_remove(key('complete', queue), id)
  zset_remove(AGENDA, 'result:' .. id)
  book(queue, 'pruned', 1)
end
delete_records(complete, math.huge)
local alone = first_entries('results')
for _, id in ipairs(alone) do
  redis.call('DEL', key('result', id))
  zset_remove(AGENDA, 'result:' .. id)
  zset_remove(key('results', queue), id)
end
delete_records(alone, math.huge)
if left <= 0 then
  return write_back(0)
end

zset_remove(QUEUES, queue)
zset_remove(AGENDA, 'complete:' .. queue)
zset_remove(AGENDA, 'lanes:' .. queue)
local days = redis.call('ZRANGE', key('days', queue), 0, -1)
notify_queue(queue, 'deleted')
write_back(1)
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
-- Some of these keys may be large.
call_in_batches('UNLINK', nil, names)
return 1
