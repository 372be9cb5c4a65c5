-- completed_jobs: keep completed jobs as long as the settings of their queue require, and delete the
-- oldest completed jobs that exceed the queue's limits on number and age.
--
-- uses   keys now settings sorted_sets books job_records remembered_answers tags job_states results work_budget

-- Delete jobs by id. `newest` is the time when the last of them was completed. The records of the jobs are read
-- only if they may be needed: to remove the tags of the jobs, or to keep the proof of a recent completion.
local function delete_records(ids, newest)
  if #ids > 0 and (any_tags() or newest > now - REMEMBERED_MS) then
    read_jobs(ids)
    for _, id in ipairs(ids) do
      local job = read_job(id)
      if job then
        keep_proofs(job)
        set_tags(job, {})
      end
    end
  end
  for _, id in ipairs(ids) do
    delete_record(id)
  end
end

local RETAIN_AT_MOST = 500

local function prune_jobs(queue, ids)
  local leaving = {}
  local newest = ids[1] and tonumber(redis.call('ZSCORE', key('complete', queue), ids[#ids]))
  for _, id in ipairs(ids) do
    zset_remove(key('complete', queue), id)
    if redis.call('EXISTS', key('result', id)) == 1 then
      zset_add(key('results', queue), id, now)
    else
      leaving[#leaving + 1] = id
    end
  end
  delete_records(leaving, newest)
  book(queue, 'pruned', #ids)
  add_work(#ids)
  flush_zsets()
end

local function prune_completed(queue)
  flush_zsets()
  local kept = key('complete', queue)
  local limits = settings(queue)
  prune_jobs(queue, redis.call(
    'ZRANGE', kept, '-inf', now - limits.keep_age, 'BYSCORE', 'LIMIT', 0, work_left(RETAIN_AT_MOST)))
  local excess = work_left(math.min(RETAIN_AT_MOST, redis.call('ZCARD', kept) - limits.keep_count))
  if excess > 0 then
    prune_jobs(queue, redis.call('ZRANGE', kept, 0, excess - 1))
  end
  local oldest = redis.call('ZRANGE', kept, 0, 0, 'WITHSCORES')
  if oldest[2] then
    zset_add(AGENDA, 'complete:' .. queue, oldest[2] + limits.keep_age)
  end
end

local function has_excess_completed(queue)
  local kept = key('complete', queue)
  local limits = settings(queue)
  return redis.call('ZCARD', kept) > limits.keep_count
    or redis.call('ZCOUNT', kept, '-inf', now - limits.keep_age) > 0
end

-- The number of jobs that this call has added to the completed jobs of each queue.
local completed_in

-- Keep a completed job, and keep the result of the job until the result's TTL ends.
local function keep_completed(job, result)
  local queue = job.queue
  local limits = settings(queue)
  local kept = limits.keep_count > 0 and limits.keep_age > 0
  if kept then
    enter_state(job, 'complete', job.ended)
    completed_in = completed_in or {}
    -- A job that was completed earlier, such as an imported job, may already have to be pruned.
    completed_in[queue] = (completed_in[queue] or 0) + (job.ended == now and 1 or math.huge)
  else
    job.state = 'complete'
    book(queue, 'complete', 1)
    book(queue, 'pruned', 1)
    if result then mark_changed(job) else delete_job(job) end
  end
  if result then
    keep_result(job, result, not kept)
  end
end

-- Prune each queue that has more completed jobs than it keeps. The first completed job of a queue adds an entry
-- to the agenda, which prunes by age.
local function prune_new_completed()
  for queue, added in pairs(completed_in) do
    local where = key('complete', queue)
    flush_zset(where)
    local kept = redis.call('ZCARD', where)
    if kept <= added or kept > settings(queue).keep_count then
      prune_completed(queue)
    end
  end
end
