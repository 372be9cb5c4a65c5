// BullMQ: what is complete is removed, concurrency 100, jobs put in bulk.
"use strict";

const fs = require("fs");
const { Queue, Worker } = require("bullmq");

const url = new URL(process.env.BENCH_URL);
const connection = { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null };
const told = process.env.BENCH_TOLD;
const jobs = Number(process.env.BENCH_JOBS);
const ready = told.replace(/\.[^.]*$/, ".ready");
const BULK = 1000;
const EVERY = 0.02;
const WARM_UP = 25;
const PATIENCE = 30;

const now = () => Number(process.hrtime.bigint()) / 1e9;
const cpu = () => process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6;
const sleep = (seconds) => new Promise((wake) => setTimeout(wake, seconds * 1000));

function tell(found) {
  fs.writeFileSync(`${told}.part`, JSON.stringify(found));
  fs.renameSync(`${told}.part`, told);
}

function work() {
  let number = 0, begun = 0, spent = 0;
  const waited = [];
  const handlers = {
    noop: () => {
      number += 1;
      if (number === 1) [begun, spent] = [now(), cpu()];
      else if (number === jobs) tell({ seconds: now() - begun, cpu: cpu() - spent });
    },
    late: ({ at }) => {
      const start = now();
      if (!at) return fs.writeFileSync(ready, "");
      waited.push(start - at);
      if (waited.length === jobs) tell({ waited });
    },
  };
  const worker = new Worker("bench", async (job) => handlers[job.name](job.data), {
    connection,
    concurrency: 100,
  });
  process.on("SIGTERM", () => worker.close().then(() => process.exit(0)));
}

async function produce(what, count) {
  const queue = new Queue("bench", { connection, defaultJobOptions: { removeOnComplete: true } });
  const late = (at) => queue.add("late", { at });
  if (what === "fill") {
    for (let put = 0; put < count; put += BULK) {
      const size = Math.min(BULK, count - put);
      await queue.addBulk(Array.from({ length: size }, () => ({ name: "noop", data: {} })));
    }
  } else {
    await late(0);
    for (const limit = now() + PATIENCE; !fs.existsSync(ready); await sleep(0.01))
      if (now() > limit) throw new Error("the worker began no job");
    const begun = now();
    for (let n = 0; n < WARM_UP + count; n += 1) {
      await sleep(Math.max(0, begun + n * EVERY - now()));
      await late(n < WARM_UP ? 0 : now());
    }
  }
  await queue.close();
}

if (process.argv[2] === "work") work();
else produce(process.argv[2], Number(process.argv[3])).then(() => process.exit(0));
