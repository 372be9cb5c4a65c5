-- job_finished: what others wait for has ended. They are seen to by follow_up, before the script ends.
--
-- uses   keys job_records sorted_sets dependency_policies unique_values

-- What ended and how, and lists of dependents that were begun with. While cascading, what is
-- cancelled takes its dependents along.
local finished_parents, unlocking = {}, {}
local cascading = false

local ENDINGS = { completed = 'completed', failed = 'failed' }

local function leave_group(job, ending)
  local group = extra(job, 'group')
  if group then
    if ending ~= 'failed' then
      zset_remove(key('group', group), job.id)
    end
    finished_parents[#finished_parents + 1] = { group_parent(group), ending }
  end
end

local function note_finished_parent(job, outcome)
  local ending = ENDINGS[outcome] or 'gone'
  if extra(job, 'awaited') then
    finished_parents[#finished_parents + 1] = { job.id, cascading and ending == 'gone' and 'cascade' or ending }
    if ending ~= 'failed' then
      set_extra(job, 'awaited', nil)
    end
  end
  leave_group(job, ending)
end

-- what follows when a job has come to an end: completed, failed, cancelled or expired. It has
-- left its state and still has its record.

local function job_finished(job, outcome)
  note_finished_parent(job, outcome)
  release_unique_value(job)
end
