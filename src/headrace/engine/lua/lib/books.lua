-- books: the counters of a queue, moved by the same script as the job. Always, for every queue,
-- put = waiting + scheduled + blocked + running + failed + complete + cancelled + expired + moved.
--
-- uses   keys

local entries = {}

local function count(queue, what, by)
  local book = entries[queue]
  if not book then
    book = {}
    entries[queue] = book
  end
  book[what] = (book[what] or 0) + by
end

local function write_books()
  for queue, book in pairs(entries) do
    for what, by in pairs(book) do
      if by ~= 0 then
        redis.call('HINCRBY', key('books', queue), what, by)
      end
    end
  end
end
