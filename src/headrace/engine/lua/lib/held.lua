-- held: the guard of a worker's operations. Only the token of the present lease may act, whatever
-- the worker's name. When a call is repeated because its answer was lost, a job that this same
-- token has already ended counts as done. An operator needs no token, but the job must be running.
--
-- uses   jobs

local function held(id, token)
  local job = read_job(id)
  if not job then
    return nil, again and token ~= '' and 'DONE' or 'NOT_FOUND'
  end
  local state = job.state
  if token == '' then
    if state ~= 'running' then
      return nil, 'WRONG_STATE ' .. state
    end
    return job
  end
  if job.token == token then
    if state == 'running' then
      return job
    elseif again then
      return nil, 'DONE'
    end
  end
  return nil, 'LEASE_LOST ' .. state .. ' ' .. (state == 'running' and job.worker or '')
end
