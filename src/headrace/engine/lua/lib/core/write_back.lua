-- write_back: write all collected changes once, at the end of an operation. An operation that changed
-- nothing does no housekeeping: a refused call changes nothing at all.
--
-- uses   keys job_records sorted_sets books tags events notices job_finished run_agenda log_needs_trim
-- uses   write_back_hooks prune_completed
-- later  update_dependents

local function follow_finished()
  if finished_parents[1] or unlocking[1] then
    update_dependents()
  end
end

local function write_back(reply)
  follow_finished()
  if number then
    run_agenda(log_needs_trim(first_number, number))
    follow_finished()
  end
  for _, finish in ipairs(write_back_hooks) do
    finish()
  end
  flush_zsets()
  write_jobs()
  write_books()
  write_tags()
  if number then
    redis.call('HSET', LOG, 'number', number, 'stamp', stamp)
  end
  send_notices()
  return reply
end

-- Run the housekeeping after a fast path or a change of a feed: due agenda entries and, for a queue with
-- too many completed jobs, pruning.
local function run_housekeeping(trim_due, queue)
  if queue then
    prune_completed(queue)
  end
  run_agenda(trim_due)
  write_back()
end
