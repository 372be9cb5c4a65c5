-- take_late: jobs whose lease ran out are handed out before all others, earliest end first.
--
-- uses   keys now jobs lose

return function(most)
  local late = redis.call('ZRANGE', key('running', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0, most,
    'WITHSCORES')
  for i = 1, #late, 2 do
    local job = read_job(late[i])
    lose(job, 'lease expired')
    if job.state == 'waiting' then
      hand_out(job, nil, now - late[i + 1])
    end
  end
  settle()
  return #late > 0
end
