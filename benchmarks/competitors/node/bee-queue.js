// Bee-Queue: completed jobs are removed. Events are off in the producer and in the worker. The
// documentation recommends this unless a program needs events.
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
  // Bee-Queue looks for the jobs of dead workers only if checkStalledJobs is called.
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
