-- move_on: a job that is done in its queue goes to the next one, in the same step.
--
-- uses   emit history move books join claims

return function(job, run, data, next_queue, delay, parents)
  local event = emit('completed', job, nil, run,
    told_change(job, data, { 'next', next_queue, 'delay', delay }))
  remember(job, 'completed')
  leave(job)
  release_claim(job)
  book(job.queue, 'moved', 1)
  join(job, next_queue, event, delay, parents)
  return job.state
end
