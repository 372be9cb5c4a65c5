-- housekeep_only: the chores alone, for scripts whose general form does not do them.
--
-- uses   write_back

return function(_, trim_due)
  run_housekeeping(trim_due)
end
