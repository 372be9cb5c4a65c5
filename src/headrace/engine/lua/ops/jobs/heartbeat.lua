-- heartbeat: renew leases, and replace the data of jobs if new data is passed. A lease of -1 means the
-- queue's setting `lease`. With -1, a job that has no deadline still gets no deadline.
--
-- args   lease:int
-- each   id token data:optional
-- flags  allow-oom
-- uses   lanes keys now settings job_records events sorted_sets check_lease lane_access write_back
-- reply  for each job, the new deadline ('inf' for no deadline) or a refusal
-- error  NOT_FOUND LEASE_LOST

read_jobs(ids_of(each))
local answers = {}
for id, token, data in each() do
  local job, refusal = check_lease(id, token)
  if job then
    local span = lease >= 0 and lease
    if lease < 0 and redis.call('ZSCORE', key('running', job.queue), id) ~= 'inf' then
      span = settings(job.queue).lease
    end
    local deadline = span and now + span or 'inf'
    zset_add(key('running', job.queue), id, deadline)
    if is_in_lane(job) then
      renew_gates(job, deadline)
    end
    if data and data ~= payload(job) then
      set_data(job, data)
      mark_changed(job)
      emit('updated', job, nil, nil, changed_payload(job, data))
    end
    answers[#answers + 1] = deadline
  else
    answers[#answers + 1] = refusal
  end
end
return write_back(answers)
