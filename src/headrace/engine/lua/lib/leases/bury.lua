-- bury: what a dead worker held goes back to the front.
--
-- uses   end_session lose

return function(worker)
  return end_session(worker, function(job)
    lose(job, 'session ended')
  end)
end
