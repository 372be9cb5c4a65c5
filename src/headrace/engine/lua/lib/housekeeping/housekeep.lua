-- housekeep: the chores alone, for scripts whose general form does not do them.
--
-- uses   commit

return function(_, log_has_grown)
  keep_house(log_has_grown)
end
