import { expect, test } from "vitest";
import type { AnyProcedure } from "@trpc/server";
import { appRouter } from "../../adapters/trpc/router.ts";
import { playExampleCalls } from "../support/example-calls.ts";
import { copyOf, Life, type Answer, type Moment, type Stored } from "../support/interrupted-call.ts";

const mutations = new Set(Object.entries(appRouter._def.procedures as object as Record<string, AnyProcedure>)
  .filter(([, { _def }]) => _def.type === "mutation")
  .map(([name]) => name));

const diff = (a: Stored, b: Stored) => Object.keys(a).flatMap((name) => {
  const more = (b[name] ?? []).filter((x) => !(a[name] ?? []).includes(x));
  const less = (a[name] ?? []).filter((x) => !(b[name] ?? []).includes(x));
  return more.length + less.length > 0 || a[name]!.length !== b[name]!.length ? [`${name} ${a[name]!.length}->${b[name]!.length} +${more} -${less}`] : [];
});
const same = (a: Stored, b: Stored) => diff(a, b).length === 0;

test("x", async () => {
  const t0 = performance.now();
  const trials: string[] = [];
  let lives = 0;
  const say = (line: string) => trials.push(line);
  await playExampleCalls(undefined, undefined, async (moment) => {
    if (!mutations.has(moment.procedure)) return;
    const given = copyOf(moment.storage);
    const source = new (moment.storage.constructor as any)({ data: given });
    await source.open((await import("../../lib/storage-schema.ts")).storageSchema);
    const begin = async (hasMachine: boolean) => { lives++; return Life.start(moment, { data: copyOf(source), hasMachine }); };
    let hasMachine = false;
    const wait = moment.body && "wait_seconds" in moment.body ? { ...moment, body: { ...moment.body, wait_seconds: 0 } } : moment;
    const calm = async (times: number) => {
      await using life = await begin(hasMachine);
      let answer: Answer | undefined;
      let atAnswer = 0;
      for (let t = 0; t < times; t++) { answer = await (t === 0 ? life.calls.during(() => life.send(wait)) : life.send(wait)); if (t === 0) atAnswer = life.calls.made.length; }
      await life.pass(60_000);
      return { answer, atAnswer, made: [...life.calls.made], stored: await life.stored() };
    };
    let after = await calm(1);
    if (after.answer!.status >= 300) { hasMachine = true; after = await calm(1); }
    if (after.answer!.status >= 300) { say(`${moment.procedure} NO SCENE ${JSON.stringify(after.answer)}`); return; }
    const before = await calm(0);
    if (!same(before.stored, (await calm(0)).stored)) say(`${moment.procedure} before not stable ${diff(before.stored, (await calm(0)).stored)}`);
    if (!same(after.stored, (await calm(1)).stored)) say(`${moment.procedure} after not stable ${diff(after.stored, (await calm(1)).stored)}`);
    const unchanging = same(before.stored, after.stored);
    say(`== ${moment.procedure} ${unchanging ? "changes nothing" : ""} ${hasMachine ? "machine" : ""} ${after.atAnswer}/${after.made.length}`);
    for (let k = 0; k < after.made.length; k++) {
      const life = await begin(hasMachine);
      let nowMs = 0; let lists; let stored; let data;
      const where = `   ${k}${k >= after.atAnswer ? "b" : ""} ${after.made[k]}`;
      try {
        life.calls.failing = k;
        const answer = await life.calls.during(() => life.send(wait));
        await life.pass(60_000);
        stored = await life.stored();
        const isBefore = same(before.stored, stored), isAfter = same(after.stored, stored);
        const isError = answer.status >= 300;
        if (!life.calls.hasFailed) say(`${where} never made`);
        if (isError && answer.status !== 503 && answer.status !== 500) say(`${where} ${answer.status} ${JSON.stringify(answer.body)}`);
        if (!isError && !isAfter) say(`${where} 2xx but ${diff(after.stored, stored)}`);
        else if (isError && !isBefore && !isAfter) say(`${where} half: from before: ${diff(before.stored, stored)}  FROM AFTER: ${diff(after.stored, stored)}`);
        else if (isError && isAfter && !unchanging) say(`${where} error though done`);
        else if (!isError && k < after.atAnswer) say(`${where} forgiven`);
        if (isError) {
          const again = await life.send(wait);
          await life.pass(60_000);
          const end = await life.stored();
          if (again.status !== after.answer!.status) say(`${where} again ${again.status} ${JSON.stringify(again.body).slice(0, 200)}`);
          else if (!same(after.stored, end)) say(`${where} again differs ${diff(after.stored, end)}`);
        }
        stored = await life.stored();
        lists = await life.lists(moment.token);
        nowMs = life.nowMs;
        data = life.copy();
        const events = stored["events"]!.slice(-life.told.length);
        if (life.told.length > 0 && JSON.stringify(events) !== JSON.stringify(life.told)) say(`${where} told differs`);
      } finally { await life[Symbol.asyncDispose](); }
      lives++;
      await using next = await Life.start(moment, { data, hasMachine, nowMs });
      const listsThen = await next.lists(moment.token);
      for (const name of Object.keys(lists)) {
        const [a, b] = [lists[name], listsThen[name]].map((x) => JSON.stringify(x));
        if (a !== b) say(`${where} LIST ${name}: ${a!.slice(0, 300)} THEN ${b!.slice(0, 300)}`);
      }
    }
  });
  console.log(trials.join("\n"), performance.now() - t0, lives);
}, 600_000);
