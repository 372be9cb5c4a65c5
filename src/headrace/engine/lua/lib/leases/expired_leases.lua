-- expired_leases: return the jobs of a queue whose lease expired, each with its deadline: earliest deadline
-- first, then in queue order.
--
-- uses   keys now job_records sorted_sets

local LATE_AT_MOST = 1000

local function expired_leases(queue)
  local found = redis.call('ZRANGE', key('running', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0,
    LATE_AT_MOST, 'WITHSCORES')
  local late, ids = {}, {}
  for i = 1, #found, 2 do
    ids[#ids + 1] = found[i]
  end
  read_jobs(ids)
  for i, id in ipairs(ids) do
    local job = read_job(id)
    if job then
      late[#late + 1] = { job, tonumber(found[2 * i]) }
    else
      zset_remove(key('running', queue), id)
    end
  end
  table.sort(late, function(one, other)
    local one_job, other_job = one[1], other[1]
    if one[2] ~= other[2] then
      return one[2] < other[2]
    elseif one_job.priority ~= other_job.priority then
      return one_job.priority < other_job.priority
    end
    return one_job.seq < other_job.seq
  end)
  return late
end
