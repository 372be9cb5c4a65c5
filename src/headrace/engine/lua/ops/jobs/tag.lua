-- tag: add tags to jobs. Tags that a job already has stay unchanged. A job that would exceed the limit gets
-- no new tags.
--
-- args   names:packed most:int
-- each   id
-- uses   job_records tags write_back
-- reply  for each job, its tags or a refusal
-- error  NOT_FOUND TOO_MANY

local function with_names(job)
  local wanted = { unpack(extra(job, 'tags') or {}) }
  for _, name in ipairs(names) do
    if not is_among(wanted, name) then
      wanted[#wanted + 1] = name
    end
  end
  return wanted
end

local answers = {}
for id in each() do
  local job = read_job(id)
  local wanted = job and with_names(job)
  if not job then
    answers[#answers + 1] = 'NOT_FOUND'
  elseif #wanted > most and #wanted > #(extra(job, 'tags') or {}) then
    answers[#answers + 1] = 'TOO_MANY tags ' .. most
  else
    answers[#answers + 1] = change_tags(job, wanted)
  end
end
return write_back(answers)
