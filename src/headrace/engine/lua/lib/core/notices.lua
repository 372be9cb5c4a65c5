-- notices: what listeners are told, sent once at the end of the script. A channel has the hash
-- tag of its shard, so notices are sharded on a Cluster too.
--
-- uses   keys

local woken, coming, told, ended = {}, {}, {}, {}

local function wake(queue, jobs)
  woken[queue] = (woken[queue] or 0) + jobs
end

local function expect(queue, at)
  coming[queue] = math.min(coming[queue] or at, at)
end

local function tell_queue(queue, message)
  told[#told + 1] = { key('queue', queue), message }
end

local function tell_worker(job, what)
  told[#told + 1] = { key('worker', job.worker), cmsgpack.pack({ what, job.id, job.token }) }
end

local function tell_ended(id)
  ended[#ended + 1] = id
end

local function tell_trackers(entry)
  told[#told + 1] = { key('tracked', ''), cmsgpack.pack(entry) }
end

local function send_notices()
  for queue, jobs in pairs(woken) do
    if jobs > 0 then
      redis.call('SPUBLISH', key('queue', queue), 'work ' .. jobs)
    end
  end
  -- Who waits knows when something is due; only what comes before that is news.
  for queue, at in pairs(coming) do
    if tonumber(redis.call('ZRANGE', key('scheduled', queue), 0, 0, 'WITHSCORES')[2]) == at then
      redis.call('SPUBLISH', key('queue', queue), 'coming')
    end
  end
  for _, notice in ipairs(told) do
    redis.call('SPUBLISH', notice[1], notice[2])
  end
  if #ended > 0 then
    redis.call('SPUBLISH', key('ended', ''), cmsgpack.pack(ended))
  end
end
