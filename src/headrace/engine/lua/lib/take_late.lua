-- take_late: jobs whose lease ran out are handed out before all others, earliest end first.
--
-- uses   late_jobs lose

return function(most)
  local late = late_jobs(queue)
  for i = 1, math.min(most, #late) do
    local job, deadline_before = late[i][1], late[i][2]
    lose(job, 'lease expired')
    if job.state == 'waiting' then
      hand_out(job, nil, now - deadline_before)
    end
  end
  return #late > 0
end
