-- end_dead_session: end the session of a dead worker; its jobs return to the front of their queues.
--
-- uses   sessions reclaim_job

return function(worker)
  return end_session(worker, function(job)
    reclaim_job(job, 'session ended')
  end)
end
