-- commit: makes everything the operation decided real, at its end and once. A call in which
-- nothing happened does no housekeeping either: a refused operation changes nothing at all.
--
-- uses   keys jobs places books tags emit notices ends tidy grown finishers retain
-- later  follow_up

local function follow_ends()
  if ends[1] or unlocking[1] then
    follow_up()
  end
end

local function commit(reply)
  follow_ends()
  if number then
    tidy(grown_between(first_number, number))
    follow_ends()
  end
  for _, finish in ipairs(finishers) do
    finish()
  end
  settle()
  write_jobs()
  write_books()
  write_tags()
  if number then
    redis.call('HSET', LOG, 'number', number, 'stamp', stamp)
  end
  send_notices()
  return reply
end

-- what is left to do after an operation that took the short way, or changed only feeds:
-- what the agenda says is due, and of a queue that keeps too many completed jobs the oldest go.

local function keep_house(log_has_grown, queue)
  if queue then
    retain(queue)
  end
  tidy(log_has_grown)
  commit()
end
