-- held: the guard of a worker's operations. Only the token of the present lease may act, whatever
-- the worker's name. When a call is repeated because its answer was lost, a job that this same
-- token has already ended counts as done.
--
-- uses   jobs

local function held(id, token)
  local job = read_job(id)
  if not job then
    return nil, again and 'DONE' or 'NOT_FOUND'
  end
  if job.token == token then
    if job.state == 'running' then
      return job
    elseif again then
      return nil, 'DONE'
    end
  end
  return nil, 'LEASE_LOST ' .. job.state .. ' ' .. job.worker
end

-- An operator needs no token, but the job must be running.
local function running(id)
  local job = read_job(id)
  if not job then
    return nil, 'NOT_FOUND'
  elseif job.state ~= 'running' then
    return nil, 'WRONG_STATE ' .. job.state
  end
  return job
end

local function held_or_operated(id, token)
  if token == '' then
    return running(id)
  end
  return held(id, token)
end
