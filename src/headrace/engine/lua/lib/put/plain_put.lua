-- plain_put: the fast path of put and publish: jobs without options for a queue without limits. Nothing is
-- written until all jobs of the call qualify.
--
-- uses   keys set_members now job_packing plain_put_event fast_path

-- Return the records and members to write, and their number; nil if an id occurs twice or a payload is too
-- large.
local function pack_plain_jobs(queue, rows, retries)
  local jobs, places, made, seen = {}, {}, 0, {}
  -- Records are packed by hand: their common parts are packed once.
  local before_seq, after_seq = JUST_PUT .. cmsgpack.pack(queue, 0), cmsgpack.pack(now, retries)
  for id, data in rows() do
    if seen[id] or #data > INLINE then
      return nil
    end
    seen[id] = true
    made = made + 1
    local seq = first_event + made
    jobs[2 * made - 1] = job_prefix .. id
    jobs[2 * made] = before_seq .. cmsgpack.pack(seq) .. after_seq .. cmsgpack.pack(data)
    places[2 * made - 1] = 0
    places[2 * made] = numbered(seq, id)
  end
  return jobs, places, made
end

-- Write the jobs. False, with no effect, if one of them exists. Events contain payloads up to `largest`
-- bytes.
local function insert_plain_jobs(queue, rows, jobs, places, made, largest)
  if redis.call('MSETNX', unpack(jobs)) == 0 then
    return false
  end
  for id, data in rows() do
    event = event + 1
    add_plain_put_event(event_prefix .. string.format('%d', event), queue, id, data, largest)
  end
  redis.call('ZADD', key('waiting', queue), unpack(places))
  local books = key('books', queue)
  redis.call('HINCRBY', books, 'put', made)
  redis.call('HINCRBY', books, 'waiting', made)
  redis.call('SPUBLISH', key('queue', queue), 'work ' .. made)
  return true
end
