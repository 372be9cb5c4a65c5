-- expired_leases: find jobs with expired leases, and hand these jobs out.
--
-- uses   keys now job_records set_members sorted_sets lanes hand_out return_job lane_access

local LATE_AT_MOST = 1000

-- Return a queue's jobs with expired leases, each job with the deadline of its lease. The jobs are
-- sorted by deadline. Jobs with the same deadline are sorted as in the queue. Also return the ids that
-- have no record.
local function expired_leases(queue)
  local found = redis.call('ZRANGE', key('running', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0,
    LATE_AT_MOST, 'WITHSCORES')
  local late, lost, ids = {}, {}, ids_in(found)
  read_jobs(ids)
  for i, id in ipairs(ids) do
    local job = read_job(id)
    if job then
      late[#late + 1] = { job, tonumber(found[2 * i]) }
    else
      lost[#lost + 1] = id
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
  return late, lost
end

local HELD_UP_AT_MOST = 200

-- Hand out jobs whose leases expired, earliest deadline first. These jobs come before all waiting jobs.
-- A job that a limit holds back returns to the queue. Each call returns at most 200 jobs to the queue in
-- this way.
local function take_expired_leases(most)
  local taken, held_up = 0, 0
  local expired, lost = expired_leases(pop_queue)
  for _, id in ipairs(lost) do
    zset_remove(key('running', pop_queue), id)
  end
  for _, late in ipairs(expired) do
    local job, deadline_before = late[1], late[2]
    -- Skip the jobs that this call has handed out. With a lease of 0, the leases of these jobs have
    -- already expired.
    if taken < most and held_up < HELD_UP_AT_MOST and job.token ~= job.attempt .. '.' .. pop_secret then
      reclaim_job(job, 'lease expired')
      if job.state == 'waiting' and is_in_lane(job) and closed_gate_of(job) then
        held_up = held_up + 1
      else
        taken = taken + 1
        if job.state == 'waiting' then
          hand_out(job, nil, now - deadline_before)
        end
      end
    end
  end
  return taken + held_up > 0
end
