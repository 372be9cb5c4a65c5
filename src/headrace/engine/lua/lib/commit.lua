-- commit: makes everything the operation decided real, at its end and once. A call in which
-- nothing happened does no housekeeping either: a refused operation changes nothing at all.
--
-- uses   jobs places books emit trim_log observe move notices retain tidy

local function commit(reply)
  if number then
    tidy()
  end
  retain_all()
  write_stats()
  trim_log_if_grown()
  settle()
  write_jobs()
  write_books()
  write_failure_counts()
  write_log()
  send_notices()
  return reply
end
