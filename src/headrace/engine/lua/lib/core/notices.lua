-- notices: collect the messages for listeners and publish them at the end of the script. A channel has the
-- hash tag of its shard, so messages are sharded on a Cluster too.
--
-- uses   keys

local woken, due_soon, messages, finished_ids = {}, {}, {}, {}

local function wake(queue, jobs)
  woken[queue] = (woken[queue] or 0) + jobs
end

local function announce_due(queue, at)
  due_soon[queue] = math.min(due_soon[queue] or at, at)
end

local function notify_queue(queue, message)
  messages[#messages + 1] = { key('queue', queue), message }
end

local function notify_worker(job, what)
  messages[#messages + 1] = { key('worker', job.worker), cmsgpack.pack({ what, job.id, job.token }) }
end

local function notify_finished(id)
  finished_ids[#finished_ids + 1] = id
end

local function notify_trackers(entry)
  messages[#messages + 1] = { key('tracked', ''), cmsgpack.pack(entry) }
end

local function send_notices()
  for queue, jobs in pairs(woken) do
    if jobs > 0 then
      redis.call('SPUBLISH', key('queue', queue), 'work ' .. jobs)
    end
  end
  -- A waiting worker knows when the next job is due; only an earlier time is news.
  for queue, at in pairs(due_soon) do
    if tonumber(redis.call('ZRANGE', key('scheduled', queue), 0, 0, 'WITHSCORES')[2]) == at then
      redis.call('SPUBLISH', key('queue', queue), 'coming')
    end
  end
  for _, notice in ipairs(messages) do
    redis.call('SPUBLISH', notice[1], notice[2])
  end
  if #finished_ids > 0 then
    redis.call('SPUBLISH', key('ended', ''), cmsgpack.pack(finished_ids))
  end
end
