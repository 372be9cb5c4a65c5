-- over: what follows when a job has come to an end: completed, failed, cancelled or expired. It has
-- left its state and still has its record.
--
-- uses   ends claims

local function over(job, outcome)
  end_links(job, outcome)
  release_claim(job)
end
