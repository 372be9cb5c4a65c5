-- housekeep_only: housekeeping alone, for scripts without a general path that does it.
--
-- uses   write_back

return function(_, trim_due)
  run_housekeeping(trim_due)
end
