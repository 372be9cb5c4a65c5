-- check_lease: check the lease of a worker's call. Only the token of the present lease counts, not the
-- worker's name. An operator passes no token, but the job must be running. If a repeated call already
-- finished the job, the third value is the job's state, or DONE if the job is gone.
--
-- uses   job_records

local function check_lease(id, token)
  local job = read_job(id)
  if not job then
    return nil, 'NOT_FOUND', again and 'DONE'
  end
  local state = job.state
  if state == 'running' and (token == '' or token == job.token) then
    return job
  elseif token == '' then
    return nil, 'WRONG_STATE ' .. state, again and state
  end
  return nil, 'LEASE_LOST ' .. state .. ' ' .. (state == 'running' and job.worker or ''),
    again and job.token == token and state
end
