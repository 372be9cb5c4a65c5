-- expired_leases: find jobs with expired leases, and hand these jobs out.
--
-- uses   keys now job_records sorted_sets settings lanes hand_out return_job lane_access
-- uses   work_budget

-- Jobs with the same deadline are sorted by priority and age. A pop gives all of its jobs the same deadline, so
-- many jobs may share one. At most this many jobs are read in addition, to sort them.
local EQUAL_AT_MOST = 100

-- Return the ids of a queue's jobs with expired leases, earliest deadline first, and their deadlines. The list
-- has the first `most` of these jobs, or all if there are fewer. It also has the jobs that follow and have the
-- same deadline as the last of these jobs, at most EQUAL_AT_MOST jobs.
local function expired_ids(queue, most)
  local found = redis.call('ZRANGE', key('running', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0,
    most + EQUAL_AT_MOST, 'WITHSCORES')
  local ids, deadlines = {}, {}
  for i = 1, #found, 2 do
    if #ids >= most and found[i + 1] ~= found[i - 1] then
      break
    end
    ids[#ids + 1] = found[i]
    deadlines[found[i]] = tonumber(found[i + 1])
  end
  return ids, deadlines
end

-- Read the jobs that expired_ids finds. Return pairs of a job and the deadline of its lease, sorted by deadline.
-- Jobs with the same deadline are sorted by priority and age, like waiting jobs. Also return the ids that have no
-- record.
local function expired_leases(queue, most)
  local ids, deadlines = expired_ids(queue, most)
  local late, lost = {}, {}
  read_jobs(ids)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job then
      late[#late + 1] = { job, deadlines[id] }
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

local HELD_UP_AT_MOST = 50

-- Hand out jobs whose leases expired, earliest deadline first. These jobs come before all waiting jobs.
-- If a limit does not allow a job to start, the job returns to the queue, at most HELD_UP_AT_MOST jobs per call.
local function take_expired_leases(most)
  local taken, held_up = 0, 0
  -- With a lease of 0, the leases that this call has granted have already expired, so the list contains these
  -- jobs too.
  local look_at = most + #granted + (settings(pop_queue).limited and HELD_UP_AT_MOST or 0)
  local expired, lost = expired_leases(pop_queue, look_at)
  for _, id in ipairs(lost) do
    zset_remove(key('running', pop_queue), id)
  end
  for _, late in ipairs(expired) do
    local job, deadline_before = late[1], late[2]
    if taken < most and held_up < HELD_UP_AT_MOST and work_left(1) == 1
      and job.token ~= job.attempt .. '.' .. pop_secret then
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
