-- heartbeat: renew leases, and replace the data of jobs if new data is passed. A lease of -1 means the
-- queue's setting `lease`. With -1, a job that has no deadline still gets no deadline.
--
-- args   lease:int
-- each   id token data:optional
-- flags  allow-oom
-- uses   lanes keys now settings job_records events sorted_sets endless_leases check_lease lane_access write_back
-- reply  for each job, the new deadline ('inf' for no deadline) or a refusal
-- error  NOT_FOUND LEASE_LOST

read_jobs(ids_of(each))
local answers = {}
for id, token, data in each() do
  local job, refusal = check_lease(id, token)
  if job then
    local score = tonumber(redis.call('ZSCORE', key('running', job.queue), id))
    local span = lease
    if lease < 0 then
      span = score < ENDLESS and settings(job.queue).lease
    end
    score = span and now + span or math.max(score, ENDLESS)
    zset_add(key('running', job.queue), id, score)
    if is_in_lane(job) then
      renew_gates(job, score)
    end
    if data and data ~= payload(job) then
      set_data(job, data)
      mark_changed(job)
      emit('updated', job, nil, nil, changed_payload(job, data))
    end
    answers[#answers + 1] = span and score or 'inf'
  else
    answers[#answers + 1] = refusal
  end
end
return write_back(answers)
