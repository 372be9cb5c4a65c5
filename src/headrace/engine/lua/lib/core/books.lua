-- books: count the jobs of a queue. The script that changes a job also changes the counters of its queue. For
-- every queue, this equation always holds: put = waiting + scheduled + blocked + running + failed + complete +
-- cancelled + expired + moved.
--
-- uses   keys

local books = {}

local function book(queue, what, by)
  local counters = books[queue]
  if not counters then
    counters = {}
    books[queue] = counters
  end
  counters[what] = (counters[what] or 0) + by
end

local function write_books()
  for queue, counters in pairs(books) do
    for what, by in pairs(counters) do
      if by ~= 0 then
        redis.call('HINCRBY', key('books', queue), what, by)
      end
    end
  end
end
