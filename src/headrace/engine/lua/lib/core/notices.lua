-- notices: collect the messages for subscribers, and publish the messages at the end of the script. The
-- name of a channel contains the hash tag of its shard, so that a Cluster sends each message only to the
-- node of that shard.
--
-- uses   keys

-- Each of these variables is nil until the call collects the first message of its kind.
local woken, due_soon, messages, finished_ids

local function wake(queue, jobs)
  woken = woken or {}
  woken[queue] = (woken[queue] or 0) + jobs
end

local function announce_due(queue, at)
  due_soon = due_soon or {}
  due_soon[queue] = math.min(due_soon[queue] or at, at)
end

local function add_message(channel, message)
  messages = messages or {}
  messages[#messages + 1] = { channel, message }
end

local function notify_queue(queue, message)
  add_message(key('queue', queue), message)
end

local function notify_worker(job, what)
  add_message(key('worker', job.worker), cmsgpack.pack({ what, job.id, job.token }))
end

local function notify_finished(id)
  finished_ids = finished_ids or {}
  finished_ids[#finished_ids + 1] = id
end

-- Publish an event of a tracked job as a list of the id and the fields of its entry.
local function notify_trackers(entry, fields)
  add_message(key('tracked', ''), cmsgpack.pack({ entry, unpack(fields) }))
end

local function wake_workers()
  for queue, jobs in pairs(woken) do
    if jobs > 0 then
      redis.call('SPUBLISH', key('queue', queue), 'work ' .. jobs)
    end
  end
end

-- A waiting worker already knows when the next job is due, so only a job that is due earlier is announced.
local function send_due_times()
  for queue, at in pairs(due_soon) do
    if tonumber(redis.call('ZRANGE', key('scheduled', queue), 0, 0, 'WITHSCORES')[2]) == at then
      redis.call('SPUBLISH', key('queue', queue), 'coming')
    end
  end
end

local function send_notices()
  if woken then
    wake_workers()
  end
  if due_soon then
    send_due_times()
  end
  for i = 1, messages and #messages or 0 do
    redis.call('SPUBLISH', unpack(messages[i]))
  end
  if finished_ids then
    redis.call('SPUBLISH', key('ended', ''), cmsgpack.pack(finished_ids))
  end
end
