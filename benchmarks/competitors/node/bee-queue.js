// Bee-Queue: completed jobs are removed. Events are off on both sides, as its documentation
// recommends unless they are needed.
"use strict";

const Queue = require("bee-queue");

const settings = {
  redis: process.env.BENCH_URL,
  getEvents: false,
  sendEvents: false,
  storeJobs: false,
  removeOnSuccess: true,
};

function work(handlers, concurrency) {
  const queue = new Queue("bench", settings);
  queue.process(concurrency, (job) => handlers[job.data.task](job.data));
  // It looks for the jobs of dead workers only if this is configured.
  if (process.env.BENCH_STALLED) queue.checkStalledJobs(Number(process.env.BENCH_STALLED));
  process.on("SIGTERM", () => queue.close().then(() => process.exit(0)));
}

async function producer() {
  const queue = await new Queue("bench", { ...settings, isWorker: false }).ready();
  const job = (task, call) => queue.createJob({ task, ...call });
  return {
    put: (task, call) => job(task, call).save(),
    putMany: (task, calls) => queue.saveAll(calls.map((call) => job(task, call))),
    close: () => queue.close(),
  };
}

module.exports = { work, producer };
