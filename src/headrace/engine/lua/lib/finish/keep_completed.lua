-- keep_completed: keep a completed job as long as its queue says, and its result for the result's own time.
--
-- uses   settings job_records job_states books write_back_hooks prune_completed results

local completed_in = {}

local function keep_completed(job, result)
  local queue = job.queue
  local limits = settings(queue)
  local kept = limits.keep_count > 0 and limits.keep_age > 0
  if kept then
    enter_state(job, 'complete', job.ended)
    completed_in[queue] = true
  else
    job.state = 'complete'
    book(queue, 'complete', 1)
    book(queue, 'pruned', 1)
    if result then mark_changed(job) else delete_job(job) end
  end
  if result then
    keep_result(job, result, not kept)
  end
end

write_back_hooks[#write_back_hooks + 1] = function()
  for queue in pairs(completed_in) do
    prune_completed(queue)
  end
end
