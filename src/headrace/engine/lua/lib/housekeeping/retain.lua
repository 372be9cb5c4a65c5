-- retain: completed jobs are kept up to a number and an age; the oldest go first. One whose result
-- is still kept goes with it.
--
-- uses   keys now settings places books jobs tags

-- jobs go that nobody has read. Only if there are tags at all they are read, for theirs.

local function erase_all(ids)
  if #ids > 0 and there_are_tags() then
    read_jobs(ids)
    for _, id in ipairs(ids) do
      local job = read_job(id)
      if job then
        set_tags(job, {})
      end
    end
  end
  for _, id in ipairs(ids) do
    erase(id)
  end
end

local RETAIN_AT_MOST = 600

local function drop_oldest(queue, ids)
  local leaving = {}
  for _, id in ipairs(ids) do
    lift(key('complete', queue), id)
    if redis.call('EXISTS', key('result', id)) == 1 then
      place(key('results', queue), id, now)
    else
      leaving[#leaving + 1] = id
    end
  end
  erase_all(leaving)
  book(queue, 'pruned', #ids)
  settle()
end

local function retain(queue)
  settle()
  local kept = key('complete', queue)
  local limits = settings(queue)
  drop_oldest(queue, redis.call(
    'ZRANGE', kept, '-inf', now - limits.keep_age, 'BYSCORE', 'LIMIT', 0, RETAIN_AT_MOST))
  local excess = math.min(RETAIN_AT_MOST, redis.call('ZCARD', kept) - limits.keep_count)
  if excess > 0 then
    drop_oldest(queue, redis.call('ZRANGE', kept, 0, excess - 1))
  end
  local oldest = redis.call('ZRANGE', kept, 0, 0, 'WITHSCORES')
  if oldest[2] then
    place(AGENDA, 'complete:' .. queue, oldest[2] + limits.keep_age)
  end
end

local function keeps_too_much(queue)
  local kept = key('complete', queue)
  local limits = settings(queue)
  return redis.call('ZCARD', kept) > limits.keep_count
    or redis.call('ZCOUNT', kept, '-inf', now - limits.keep_age) > 0
end
