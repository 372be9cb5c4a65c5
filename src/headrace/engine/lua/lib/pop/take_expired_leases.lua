-- take_expired_leases: hand out jobs whose lease expired before all others, earliest deadline first. A job
-- that its limits hold back returns to the queue; a bounded number of those per call.
--
-- uses   expired_leases reclaim_job lane_access now
-- needs  queue secret hand_out

local HELD_UP_AT_MOST = 200

return function(most)
  local taken, held_up = 0, 0
  for _, late in ipairs(expired_leases(queue)) do
    local job, deadline_before = late[1], late[2]
    -- With a lease of 0, the jobs that this call handed out have expired already.
    if taken < most and held_up < HELD_UP_AT_MOST and job.token ~= job.attempt .. '.' .. secret then
      reclaim_job(job, 'lease expired')
      if job.state == 'waiting' and is_in_lane(job) and lanes('closed_gate', job) then
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
