-- take_expired_leases: jobs whose lease ran out are handed out before all others, earliest end first. One that
-- may not start by its limits goes back to wait; a bounded number of those.
--
-- uses   expired_leases reclaim_job lane_access now
-- needs  queue secret hand_out

local HELD_UP_AT_MOST = 200

return function(most)
  local taken, held_up = 0, 0
  for _, late in ipairs(expired_leases(queue)) do
    local job, deadline_before = late[1], late[2]
    -- Under a lease of no time, what this call has handed out is late at once.
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
