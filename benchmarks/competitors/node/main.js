// The counterpart of producer.py, and the worker: node main.js bullmq put noop 20000 4
"use strict";

const fs = require("fs");
const path = require("path");
const { cpu, handlers, home, now, sleep } = require("./job_log");

const PAYLOAD = { to: "ada@example.org", subject: "hello", body: "x".repeat(46) };
const [CHUNK, WARM_UP, WARM_UP_LATE, EVERY, PATIENCE] = [1000, 100, 25, 0.02, 30];

const [, , competitor, how, ...rest] = process.argv;
const { work, producer } = require(`./${competitor}`);

function calls(task, first, count) {
  const given = { noop: () => PAYLOAD, step: (number) => ({ number }) }[task] || (() => ({}));
  return Array.from({ length: count }, (_, at) => given(first + at));
}

async function put(to, task, count, seconds) {
  const deadline = now() + seconds;
  let done = 0;
  for (const call of calls(task, 0, count)) {
    await to.put(task, call);
    done += 1;
    if (done % 64 === 0 && now() > deadline) break;
  }
  return done;
}

async function bulk(to, task, count, seconds) {
  const deadline = now() + seconds;
  let done = 0;
  while (done < count && now() < deadline) {
    const chunk = calls(task, done, Math.min(CHUNK, count - done));
    await to.putMany(task, chunk);
    done += chunk.length;
  }
  return done;
}

async function timed(way, to, task, count, seconds) {
  await way(to, task, WARM_UP, PATIENCE);
  const [begun, spent] = [now(), cpu()];
  const jobs = await way(to, task, count, seconds);
  return { jobs, seconds: now() - begun, cpu: cpu() - spent };
}

async function pace(to, count) {
  await to.put("late", { at: 0 });
  for (const limit = now() + PATIENCE; !fs.existsSync(path.join(home, "ready")); await sleep(10))
    if (now() > limit) throw new Error("the worker started no job");
  const begun = now();
  for (let n = 0; n < WARM_UP_LATE + count; n += 1) {
    await sleep(Math.max(0, begun + n * EVERY - now()) * 1000);
    await to.put("late", { at: n < WARM_UP_LATE ? 0 : now() });
  }
  return { jobs: count };
}

async function produce() {
  const to = await producer();
  const [task, count, seconds] = [rest[0], Number(rest[1]), Number(rest[2])];
  let found;
  if (how === "pace") found = await pace(to, Number(rest[0]));
  else if (how === "fill") found = { jobs: await bulk(to, task, count, seconds) };
  else found = await timed({ put, bulk }[how], to, task, count, seconds);
  fs.writeFileSync(path.join(home, "produced"), JSON.stringify(found));
  await to.close();
}

if (how === "work") work(handlers(), Number(process.env.BENCH_CONCURRENCY || 100));
else produce().then(() => process.exit(0));
