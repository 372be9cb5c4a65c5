// The counterpart of job_log.py: the same jobs, reported through the same files.
"use strict";

const fs = require("fs");
const path = require("path");

const home = process.env.BENCH_HOME;
const room = Number(process.env.BENCH_JOBS) + 1024;
const EVERY_MS = 20;
const [NAP_MS, BURN, STEP_MS] = [10, 0.05, 20];

const now = () => Number(process.hrtime.bigint()) / 1e9;
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
const tell = (name, line) => fs.appendFileSync(path.join(home, name), `${line}\n`);

// Node processes have no shared memory, so a timer writes new times to the file.
function counter() {
  const times = new Float64Array(room);
  const bytes = Buffer.from(times.buffer);
  const file = fs.openSync(path.join(home, `${process.pid}.times`), "w");
  let [count, written] = [0, 0];
  const write = () => {
    const from = written;
    written = count;
    fs.writeSync(file, bytes, from * 8, (written - from) * 8, from * 8);
  };
  return () => {
    if (written === count) setTimeout(write, EVERY_MS);
    times[count++] = now();
  };
}

function handlers() {
  const count = counter();
  let first = true;
  const begin = () => {
    if (first) tell("begun", now());
    first = false;
  };
  return {
    noop: async () => count(),
    late: async ({ at }) => {
      const waited = now() - at;
      if (at) tell("late", waited);
      else fs.writeFileSync(path.join(home, "ready"), "");
    },
    nap: async () => {
      begin();
      await sleep(NAP_MS);
      count();
    },
    burn: async () => {
      begin();
      const end = cpu() + BURN;
      while (cpu() < end);
      count();
    },
    step: async ({ number }) => {
      tell("steps", `begun ${number} ${now()} ${process.pid}`);
      await sleep(STEP_MS);
      tell("steps", `ended ${number} ${now()} ${process.pid}`);
    },
  };
}

module.exports = { cpu, handlers, home, now, sleep };
