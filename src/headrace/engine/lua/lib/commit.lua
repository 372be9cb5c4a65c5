-- commit: makes everything the operation decided real, at its end and once. A call in which
-- nothing happened does no housekeeping either: a refused operation changes nothing at all.
--
-- uses   keys jobs places books emit notices tidy grown finishers

local function commit(reply)
  if number then
    tidy(grown_between(first_number, number))
  end
  for _, finish in ipairs(finishers) do
    finish()
  end
  settle()
  write_jobs()
  write_books()
  if number then
    redis.call('HSET', LOG, 'number', number, 'stamp', stamp)
  end
  send_notices()
  return reply
end
