-- put_rules: the options of a put that apply to all of its jobs, and the check whether a job may have its
-- dependencies.
--
-- uses   job_records settings find_cycle

-- The policy for existing ids ('' stands for the policy of the queue), and whether dependencies can form a
-- cycle.
local put_policy, put_checks_cycles = '', false

-- The ids of jobs that this call refused to create. Jobs that depend on these ids are not created either.
local unmade

-- Record whether this call has created a job. A later row of the call may create a job that was refused before.
local function note_creation(id, is_created)
  if not is_created then
    unmade = unmade or {}
    unmade[id] = true
  elseif unmade then
    unmade[id] = nil
  end
end

local function exists_policy(into)
  local policy = put_policy ~= '' and put_policy or settings(into).on_exists
  return adds_only and policy ~= 'duplicate' and 'reject' or policy
end

-- Return whether all parents are jobs that this call has created.
local function are_new(parents)
  for _, parent in ipairs(parents) do
    if not changed_jobs[parent] then
      return false
    end
  end
  return true
end

-- Return a refusal if a job may not have these dependencies, else nil.
local function refused_links(job, id, given, parents)
  if not parents or not put_checks_cycles then
    return nil
  end
  for _, parent in ipairs(unmade and parents or {}) do
    if unmade[parent] then
      return 'DEPENDENCY_REFUSED unmade'
    end
  end
  if adds_only and not are_new(parents) then
    return 'DEPENDENCY_REFUSED permission'
  end
  return find_cycle(id, given and given.group or job and extra(job, 'group'), parents)
end
