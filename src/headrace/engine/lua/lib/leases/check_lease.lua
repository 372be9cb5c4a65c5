-- check_lease: check that the caller holds the lease of a job. Only the token of the current lease counts,
-- not the name of the worker. An operator passes an empty token, which is valid for any running job.
--
-- uses   job_records

local function check_lease(id, token)
  local job = read_job(id)
  if not job then
    return nil, 'NOT_FOUND'
  end
  local state = job.state
  if state == 'running' and (token == '' or token == job.token) then
    return job
  elseif token == '' then
    return nil, 'WRONG_STATE ' .. state
  end
  return nil, 'LEASE_LOST ' .. state .. ' ' .. (state == 'running' and job.worker or '')
end
