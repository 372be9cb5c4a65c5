-- depend: jobs that are still to be done depend on others from now on too. Those that are over count
-- for nothing; if others are left, the jobs are blocked.
--
-- args   parents:packed
-- each   id
-- uses   keys now jobs emit move links policies commit
-- later  circle
-- reply  for each, its state or why not
-- error  NOT_FOUND WRONG_STATE DEPENDENCY_REFUSED

local MOST_PARENTS = 1000

local function add_parents(job)
  local open = open_parents(parents, policy_when_failed(job))
  if #open == 0 then
    return
  end
  if job.state ~= 'blocked' then
    local due = math.max(now, job.since)
    emit('blocked', job)
    leave(job)
    job.since = due
    enter(job, 'blocked', now)
  end
  link(job, open)
end

local function refused(job)
  if job.state ~= 'waiting' and job.state ~= 'scheduled' and job.state ~= 'blocked' then
    return 'WRONG_STATE ' .. job.state
  elseif redis.call('ZCARD', key('depends', job.id)) + #parents > MOST_PARENTS then
    return 'DEPENDENCY_REFUSED number'
  end
  return circle(job.id, extra(job, 'group'), parents)
end

local answers = {}
for id in each() do
  local job = read_job(id)
  local refusal = not job and 'NOT_FOUND' or refused(job)
  if not refusal then
    add_parents(job)
  end
  answers[#answers + 1] = refusal or job.state
end
return commit(answers)
