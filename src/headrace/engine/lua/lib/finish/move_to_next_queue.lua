-- move_to_next_queue: move a completed job to its next queue, in the same script.
--
-- uses   events job_history job_states books join_queue unique_values

return function(job, run, data, next_queue, delay, parents)
  local event = emit('completed', job, nil, run,
    changed_payload(job, data, { 'next', next_queue, 'delay', delay }))
  add_history(job, 'completed')
  leave_state(job)
  release_unique_value(job)
  book(job.queue, 'moved', 1)
  join_queue(job, next_queue, event, delay, parents)
  return job.state
end
