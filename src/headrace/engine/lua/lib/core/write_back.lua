-- write_back: write all collected changes at the end of an operation. An operation that changed nothing
-- does no housekeeping, so a refused call changes nothing at all.
--
-- uses   job_records sorted_sets books tags events notices job_finished run_agenda completed_jobs
-- uses   observations failures lanes update_dependents remembered_answers

local function follow_finished()
  if finished_parents or unlocking then
    update_dependents()
  end
end

local function write_back(reply)
  follow_finished()
  if number ~= first_number and not adds_only then
    run_agenda(log_needs_trim(first_number, number))
    follow_finished()
  end
  if completed_in then
    prune_new_completed()
  end
  if observations then
    write_observations()
  end
  if failure_counts then
    write_failure_counts()
  end
  if changed or freed then
    write_lanes()
  end
  flush_zsets()
  write_jobs()
  write_books()
  if tag_counts then
    write_tags()
  end
  if proofs then
    remember(proofs)
  end
  if number ~= first_number then
    write_log_end()
  end
  send_notices()
  return reply
end

-- Run the housekeeping after a short path or a change to a feed. Housekeeping runs the due entries of the
-- agenda.
local function run_housekeeping(trim_due)
  if not adds_only then
    run_agenda(trim_due)
  end
  write_back()
end

-- Do the work that a short path has left to the general path.
local function finish_short_path(left)
  if left.is_crowded then
    prune_completed(left.queue)
  end
  if left.changed_lane then
    change_lane(left.queue, left.changed_lane, false)
  end
  run_housekeeping(left.trim_due)
end
