-- tag: add tags to jobs. Tags that a job already has stay unchanged. A job that would exceed the limit gets
-- no new tags.
--
-- args   names:packed most:int
-- each   id
-- nonce  always
-- uses   job_records tags write_back
-- reply  for each job, its tags or a refusal
-- error  NOT_FOUND TOO_MANY

local function with_names(job)
  local wanted, had = {}, {}
  for _, list in ipairs({ extra(job, 'tags') or {}, names }) do
    for _, name in ipairs(list) do
      if not had[name] then
        had[name] = true
        wanted[#wanted + 1] = name
      end
    end
  end
  return wanted
end

most = math.min(most, TAGS_AT_MOST)
local answers = {}
for id in each() do
  local job = read_job(id)
  local wanted = job and #names <= TAGS_AT_MOST and with_names(job)
  if not job then
    answers[#answers + 1] = 'NOT_FOUND'
  elseif not wanted or #wanted > most and #wanted > #(extra(job, 'tags') or {}) then
    answers[#answers + 1] = 'TOO_MANY tags ' .. most
  else
    answers[#answers + 1] = change_tags(job, wanted)
  end
end
return write_back(answers)
