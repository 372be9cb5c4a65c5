-- adopt: jobs that another queue had come into being here as they were there: waiting, scheduled, blocked,
-- failed or complete, with their times, attempts and history. Of one mark an import brings one job, once,
-- also if that is gone by now.
--
-- args   import_name
-- each   id mark queue data about:packed result:optional
-- uses   jobs adopted adopt_job commit
-- reply  for each, 1 adopted now, '=' and an id: adopted before under that id, or why not
-- error  JOB_EXISTS

local ids, marks = {}, {}
for id, mark in each() do
  ids[#ids + 1] = id
  marks[#marks + 1] = mark
end
local before = adopted_as(import_name, marks)
read_jobs(ids)
local answers, taken = {}, {}
for id, mark, queue, data, about, result in each() do
  local at = #answers + 1
  local job, adopted_id = known[id], before[at] or taken[mark]
  if adopted_id then
    answers[at] = '=' .. adopted_id
  elseif job then
    answers[at] = 'JOB_EXISTS ' .. job.state
  else
    adopt_job(id, queue, data, about, result)
    mark_adopted(mark, id)
    taken[mark] = id
    answers[at] = 1
  end
end
write_marks(import_name)
return commit(answers)
