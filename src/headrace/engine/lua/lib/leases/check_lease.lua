-- check_lease: the guard of a worker's operations. Only the token of the present lease may act, whatever
-- the worker's name. An operator needs no token, but the job must be running. When a call is
-- repeated because its answer was lost, a job that it has ended counts as done: the third value is
-- then the state that the job is in, DONE if it is gone.
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
