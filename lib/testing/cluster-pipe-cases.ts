/** What a cluster promises of pipes, and of its ends. */
import { OrchestratorError } from "../errors.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { ClusterCase } from "./cluster-scene.ts";
import { bothSides, codeWithin, readAll } from "./cluster-scene.ts";
import { assertEqual, assertThat } from "./expect.ts";
import { codeOf } from "./transport-scene.ts";

const window = 1_048_576;
const noticedWithinMs = 10_000;

const counted = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index % 251);

/** Lets what is on the way arrive. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await nextTurn();
}

export const clusterPipeCases: ClusterCase[] = [
  {
    promise: 6,
    name: "what is written arrives whole and in order, both ways at once, whatever its size",
    async test(scene) {
      const { near, far, leave } = await bothSides(scene);
      const there = [counted(1), counted(65_537), counted(0), counted(300_000), counted(10)];
      const back = [counted(200_001), counted(2)];
      const write = async (pipe: typeof near, parts: Uint8Array[]): Promise<void> => {
        for (const part of parts) void pipe.write(part);
        await pipe.end();
      };
      const [arrivedThere, arrivedBack] = await Promise.all([
        readAll(far),
        readAll(near),
        write(near, there),
        write(far, back),
      ]);
      leave();
      assertEqual(
        arrivedThere,
        there.flatMap((part) => [...part]),
        "what arrived there",
      );
      assertEqual(
        arrivedBack,
        back.flatMap((part) => [...part]),
        "what arrived here",
      );
    },
  },
  {
    promise: 6,
    name: "the end of one way leaves the other open, and what came before it can be read after the pipe failed",
    async test(scene) {
      const { near, far } = await bothSides(scene);
      await near.write(counted(3));
      await near.end();
      await far.write(counted(4));
      assertEqual([...((await near.read()) ?? [])], [0, 1, 2, 3], "what came back after the end");
      assertEqual(await codeOf(near.write(counted(1))), "UNAVAILABLE", "a write after the end");
      near.abort();
      assertEqual(await codeOf(near.read()), "CANCELLED", "a read of what never came");
      await settle();
      assertEqual(await readAll(far), [0, 1, 2], "what was whole before the failure");
    },
  },
  {
    promise: 6,
    name: "the opening has a body, and the method learns who opened",
    async test({ here, there, pipes }) {
      pipes.set("tell", async ({ from, body, pipe }) => {
        await pipe.write(new TextEncoder().encode(JSON.stringify([from, body])));
      });
      const pipe = await here.open(there.name, "tell", { body: { name: "é" } });
      const told = new TextDecoder().decode(Uint8Array.from(await readAll(pipe)));
      assertEqual(JSON.parse(told), [here.name, { name: "é" }], "what the method was told");
    },
  },
  {
    promise: 7,
    name: "a writer waits for a reader that does not read, and goes on when it does",
    async test(scene) {
      const { near, far } = await bothSides(scene);
      for (const size of [65_536, 1]) {
        let written = 0;
        const work = (async (): Promise<void> => {
          while (written < 3 * window) {
            await near.write(counted(size));
            written += size === 1 ? 257 : size;
          }
        })();
        await settle();
        assertThat(written <= window, `${written} bytes were written and none was read`);
        assertThat(written > window / 2, `only ${written} bytes were written`);
        for (let read = 0; read < written || written < 3 * window;) {
          const bytes = (await far.read())?.length ?? 0;
          read += size === 1 ? bytes * 257 : bytes;
        }
        await work;
      }
    },
  },
  {
    promise: 8,
    name: "a pipe that is cut off ends on both sides, whether anything is written or not",
    needs: "cut",
    async test(scene) {
      const { clock, subject, here, there } = scene;
      const { near, far } = await bothSides(scene);
      await near.write(counted(10));
      await clock.advance(60_000);
      assertThat(!near.signal.aborted && !far.signal.aborted, "a quiet pipe ended");
      subject.cut!(here, there);
      await far.read();
      const waits = [near.read(), far.read(), near.end()];
      for (const wait of waits) wait.catch(() => {});
      for (const wait of waits)
        assertEqual(await codeWithin(clock, noticedWithinMs, wait), "UNAVAILABLE", "what waited");
    },
  },
  {
    promise: 8,
    name: "the last frame, too, is not lost without a word",
    needs: "cut",
    async test(scene) {
      const { clock, subject, here, there } = scene;
      const { near, far } = await bothSides(scene);
      subject.cut!(here, there);
      const ended = near.write(counted(5)).then(() => near.end());
      ended.catch(() => {});
      const read = far.read();
      read.catch(() => {});
      assertEqual(await codeWithin(clock, noticedWithinMs, read), "UNAVAILABLE", "the reader");
      assertEqual(await codeWithin(clock, noticedWithinMs, ended), "UNAVAILABLE", "the writer");
    },
  },
  {
    promise: 8,
    name: "an opening of which nothing is heard ends",
    needs: "cut",
    async test({ here, there, clock, subject, pipes }) {
      pipes.set("any", async () => {});
      subject.cut!(here, there);
      const opening = here.open(there.name, "any", { body: {} });
      assertEqual(await codeWithin(clock, noticedWithinMs, opening), "UNAVAILABLE", "the opening");
    },
  },
  {
    promise: 9,
    name: "whoever gives a pipe up, both sides end with the same error",
    async test(scene) {
      const stop = new AbortController();
      const refusal = new OrchestratorError("IN_USE", { message: "Not now.", details: { by: "web" } });
      const ways: [string, (sides: Awaited<ReturnType<typeof bothSides>>) => void, string][] = [
        ["abort of who opened", ({ near }) => near.abort(), "CANCELLED"],
        ["abort of who was asked", ({ far }) => far.abort(refusal), "IN_USE"],
        ["the signal of the opening", () => stop.abort(), "CANCELLED"],
        ["a method that throws", ({ leave }) => leave(refusal), "IN_USE"],
        ["a method that breaks", ({ leave }) => leave(new TypeError("secret")), "INTERNAL"],
      ];
      for (const [way, giveUp, expected] of ways) {
        const sides = await bothSides(scene, way === "the signal of the opening" ? stop.signal : undefined);
        const { near, far } = sides;
        const codes = Promise.all([near.read(), far.read()].map(codeOf));
        giveUp(sides);
        assertEqual(await codes, [expected, expected], way);
        for (const pipe of [near, far])
          for (const late of [pipe.write(counted(1)), pipe.end(), pipe.read()])
            assertEqual(await codeOf(late), expected, `${way}, and what comes later`);
        assertThat(near.signal.aborted && far.signal.aborted, `${way} did not abort both signals`);
      }
      const late = codeOf(scene.here.open(scene.there.name, "both", { body: {}, signal: stop.signal }));
      assertEqual(await late, "CANCELLED", "an opening after the signal");
    },
  },
  {
    promise: 9,
    name: "a method that returns has ended: what it wrote arrives, and what nobody reads is refused",
    async test(scene) {
      const { near, far, leave } = await bothSides(scene);
      await far.write(counted(3));
      leave();
      assertEqual(await readAll(near), [0, 1, 2], "what the method wrote");
      await settle();
      assertEqual(await codeOf(near.write(counted(1))), "UNAVAILABLE", "a write to nobody");
    },
  },
  {
    promise: 11,
    name: "a stop ends calls and pipes on both sides, waits for methods, and may be called twice",
    async test(scene) {
      const { here, there, calls, start } = scene;
      let release = (): void => {};
      calls.set("wait", () => new Promise((resolve) => (release = () => resolve({}))));
      const { near, far } = await bothSides(scene);
      const ends = Promise.all([
        codeOf(near.read()),
        codeOf(far.read()),
        codeOf(here.call(there.name, "wait", { body: {}, timeoutMs: 60_000 })),
      ]);
      await settle();
      let isStopped = false;
      const stopped = Promise.all([here.stop(), here.stop(), there.stop()]).then(() => (isStopped = true));
      assertEqual(await ends, ["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"], "what waited");
      await settle();
      assertThat(!isStopped, "the stop did not wait for a method");
      release();
      await stopped;
      assertEqual(await codeOf(here.open(there.name, "both", { body: {} })), "UNAVAILABLE", "after the stop");
      await start(here);
      if (there !== here) await start(there);
      await bothSides(scene);
    },
  },
  {
    promise: 12,
    name: "a member that is cut off from what joins them says so, ends what waits, and comes back",
    needs: "isolate",
    async test(scene) {
      const { here, there, calls, subject, rung } = scene;
      calls.set("wait", ({ body }) => (body["now"] === true ? Promise.resolve({}) : new Promise(() => {})));
      calls.set("same", async ({ body }) => body);
      const { near } = await bothSides(scene);
      const ends = Promise.all([codeOf(near.read()), codeOf(near.write(new Uint8Array(3 * window)))]);
      await subject.isolate!(here);
      assertEqual(await ends, ["UNAVAILABLE", "UNAVAILABLE"], "what waited");
      assertEqual(here.state, "down", "the state");
      const call = { body: {}, timeoutMs: 1_000 };
      assertEqual(await codeOf(here.call(there.name, "same", call)), "UNAVAILABLE", "a call meanwhile");
      there.ring(1);
      await settle();
      await subject.rejoin!(here);
      assertEqual(here.state, "up", "the state afterwards");
      assertEqual(await here.call(there.name, "same", { ...call, body: { a: 1 } }), { a: 1 }, "a call");
      assertEqual(rung, [], "rings of the time between");
    },
  },
];
