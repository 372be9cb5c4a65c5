-- trim_kept: keeps the limits of completed jobs after they have changed.
--
-- uses   retain commit

return function(queue)
  retain(queue)
  commit()
end
