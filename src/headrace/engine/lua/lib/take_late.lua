-- take_late: jobs whose lease ran out are handed out before all others, earliest end first.
--
-- uses   late_jobs lose in_lanes

return function(most)
  local taken = 0
  for _, late in ipairs(late_jobs(queue)) do
    local job, deadline_before = late[1], late[2]
    -- Under a lease of no time, what this call has handed out is late at once.
    if taken < most and job.token ~= job.attempt .. '.' .. secret then
      taken = taken + 1
      lose(job, 'lease expired')
      if job.state == 'waiting' and not (is_in_lane(job) and lanes('closed_gate', job)) then
        hand_out(job, nil, now - deadline_before)
      end
    end
  end
  return taken > 0
end
