-- untag: remove tags from jobs. A tag that a job does not have is ignored.
--
-- args   names:packed
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   job_records tags write_back
-- reply  for each job, its tags or a refusal
-- error  NOT_FOUND

local unwanted = set_of(names)

local function without_names(job)
  local wanted = {}
  for _, tag in ipairs(extra(job, 'tags') or {}) do
    if not unwanted[tag] then
      wanted[#wanted + 1] = tag
    end
  end
  return wanted
end

local answers = {}
for id in each() do
  local job = read_job(id)
  answers[#answers + 1] = job and change_tags(job, without_names(job)) or 'NOT_FOUND'
end
return write_back(answers)
