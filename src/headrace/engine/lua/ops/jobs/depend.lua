-- depend: add dependencies to pending jobs. Dependencies that have finished are ignored. If unfinished
-- dependencies are left, the jobs are blocked. If `state` is set, only jobs in that state get dependencies.
--
-- args   parents:packed state
-- each   id
-- nonce  always
-- uses   keys now job_records events job_states links dependency_policies write_back find_cycle
-- reply  for each job, its state or a refusal
-- error  NOT_FOUND WRONG_STATE DEPENDENCY_REFUSED

local MOST_PARENTS = 5000

local function add_parents(job)
  local open = open_parents(parents, failure_policy(job))
  if #open == 0 then
    return
  end
  if job.state ~= 'blocked' then
    local due = math.max(now, job.since)
    emit('blocked', job)
    leave_state(job)
    job.since = due
    enter_state(job, 'blocked', now)
  end
  link(job, open)
end

local function refused(job)
  if job.state ~= 'waiting' and job.state ~= 'scheduled' and job.state ~= 'blocked' then
    return 'WRONG_STATE ' .. job.state
  elseif state ~= '' and job.state ~= state then
    return 'WRONG_STATE ' .. job.state
  elseif redis.call('ZCARD', key('depends', job.id)) + #parents > MOST_PARENTS then
    return 'DEPENDENCY_REFUSED number'
  end
  return find_cycle(job.id, extra(job, 'group'), parents)
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
return write_back(answers)
