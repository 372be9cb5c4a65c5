-- housekeep: what is left to do after an operation that took the short way.
--
-- uses   tidy commit

return function(log_has_grown)
  tidy(log_has_grown)
  commit()
end
