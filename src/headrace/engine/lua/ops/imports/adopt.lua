-- adopt: jobs that another queue had come into being here as they were there: waiting, scheduled, blocked,
-- failed or complete, with their times, attempts and history. Of one badge an import brings one job, once,
-- also if that is gone by now. Where another job has its id, it gets its spare id.
--
-- args   import_name
-- each   id spare badge queue data about:packed result:optional
-- uses   jobs adopted adopt_job commit
-- reply  for each, 1 adopted now, 2 under its spare id, '=' and an id: adopted before under that id, or why not
-- error  JOB_EXISTS

local ids, badges = {}, {}
for id, _, badge in each() do
  ids[#ids + 1] = id
  badges[#badges + 1] = badge
end
local before = adopted_as(import_name, badges)
read_jobs(ids)
local answers, taken = {}, {}

-- What jobs of these badges are called here; those that did not come are left out.
local function ids_here(parents)
  local ids = {}
  for i, id in ipairs(adopted_as(import_name, parents)) do
    ids[#ids + 1] = taken[parents[i]] or id or nil
  end
  return ids
end

for id, spare, badge, queue, data, about, result in each() do
  local at = #answers + 1
  local job, adopted_id = known[id], before[at] or taken[badge]
  local free = not job and id or not read_job(spare) and spare
  if adopted_id then
    answers[at] = '=' .. adopted_id
  elseif not free then
    answers[at] = 'JOB_EXISTS ' .. job.state
  else
    if about.parents then
      about.depends_on = ids_here(about.parents)
    end
    adopt_job(free, queue, data, about, result)
    note_adopted(badge, free)
    taken[badge] = free
    answers[at] = job and 2 or 1
  end
end
write_adopted(import_name)
return commit(answers)
