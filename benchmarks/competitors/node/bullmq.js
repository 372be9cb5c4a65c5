// BullMQ: completed jobs are removed; 100 concurrent jobs, as its documentation recommends for
// jobs that wait.
"use strict";

const { Queue, Worker } = require("bullmq");

const url = new URL(process.env.BENCH_URL);
const connection = { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null };

function work(handlers, concurrency) {
  const run = (job) => handlers[job.name](job.data);
  const worker = new Worker("bench", run, { connection, concurrency });
  process.on("SIGTERM", () => worker.close().then(() => process.exit(0)));
}

async function producer() {
  const queue = new Queue("bench", { connection, defaultJobOptions: { removeOnComplete: true } });
  return {
    put: (task, call) => queue.add(task, call),
    putMany: (name, calls) => queue.addBulk(calls.map((data) => ({ name, data }))),
    close: () => queue.close(),
  };
}

module.exports = { work, producer };
