-- job_finished: record that a job finished: its dependents and its group are updated by update_dependents
-- before the script ends.
--
-- uses   keys job_records sorted_sets dependency_policies unique_values

-- Finished jobs and groups with their endings, and lists of dependents in progress. While cascading, a
-- cancelled job cancels its dependents.
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

-- A job finished: completed, failed, cancelled or expired. It has left its state but still has its record.
local function job_finished(job, outcome)
  note_finished_parent(job, outcome)
  release_unique_value(job)
end
