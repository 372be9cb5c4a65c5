-- job_finished: record that a job finished. Before the script ends, update_dependents updates the
-- dependents and the group of the job.
--
-- uses   keys job_records sorted_sets dependency_policies unique_values

-- finished_parents contains pairs: a finished job or the group of a finished job, and the ending of that
-- job. unlocking contains the names of the lists of dependents that must still be processed. While
-- cascading is true, cancelling a job also cancels its dependents.
local finished_parents, unlocking
local cascading = false

local function add_finished_parent(parent, ending)
  finished_parents = finished_parents or {}
  finished_parents[#finished_parents + 1] = { parent, ending }
end

local function process_list_later(name)
  unlocking = unlocking or {}
  unlocking[#unlocking + 1] = name
end

local ENDINGS = { completed = 'completed', failed = 'failed' }

local function leave_group(job, ending)
  local group = extra(job, 'group')
  if group then
    if ending ~= 'failed' then
      zset_remove(key('group', group), job.id)
    end
    add_finished_parent(group_parent(group), ending)
  end
end

local function note_finished_parent(job, outcome)
  local ending = ENDINGS[outcome] or 'gone'
  if extra(job, 'awaited') then
    add_finished_parent(job.id, cascading and ending == 'gone' and 'cascade' or ending)
    if ending ~= 'failed' then
      set_extra(job, 'awaited', nil)
    end
  end
  leave_group(job, ending)
end

-- Record that a job completed, failed, expired or was cancelled. The job is no longer listed in its state,
-- but its record still exists.
local function job_finished(job, outcome)
  note_finished_parent(job, outcome)
  release_unique_value(job)
end
