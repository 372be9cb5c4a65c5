-- end_dead_session: what a dead worker held goes back to the front.
--
-- uses   sessions reclaim_job

return function(worker)
  return end_session(worker, function(job)
    reclaim_job(job, 'session ended')
  end)
end
