-- prune_completed: delete the oldest completed jobs beyond a queue's limits of number and age. A job whose
-- result is still kept is deleted with the result.
--
-- uses   keys now settings sorted_sets books job_records tags

-- Delete jobs whose records were not read. They are read only if there are tags at all, to remove theirs.
local function delete_records(ids)
  if #ids > 0 and any_tags() then
    read_jobs(ids)
    for _, id in ipairs(ids) do
      local job = read_job(id)
      if job then
        set_tags(job, {})
      end
    end
  end
  for _, id in ipairs(ids) do
    delete_record(id)
  end
end

local RETAIN_AT_MOST = 600

local function prune_jobs(queue, ids)
  local leaving = {}
  for _, id in ipairs(ids) do
    zset_remove(key('complete', queue), id)
    if redis.call('EXISTS', key('result', id)) == 1 then
      zset_add(key('results', queue), id, now)
    else
      leaving[#leaving + 1] = id
    end
  end
  delete_records(leaving)
  book(queue, 'pruned', #ids)
  flush_zsets()
end

local function prune_completed(queue)
  flush_zsets()
  local kept = key('complete', queue)
  local limits = settings(queue)
  prune_jobs(queue, redis.call(
    'ZRANGE', kept, '-inf', now - limits.keep_age, 'BYSCORE', 'LIMIT', 0, RETAIN_AT_MOST))
  local excess = math.min(RETAIN_AT_MOST, redis.call('ZCARD', kept) - limits.keep_count)
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
